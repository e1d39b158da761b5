"""Session logs as agents write them: recognised by content, read in one pass (trees in two), never held in memory whole.

A reader (one module per tool) turns a log into events; `assemble` makes sessions of them, one for the main thread and
one for each sub-agent. History is what was said: a summary the tool made of it belongs to a boundary, not to history.
"""

from __future__ import annotations
