"""Trainers' configurations in and out: what a file says becomes a scenario, and a list of how it came about.

A file is read as data (`documents`), its format is recognised (`formats`), its own reader says what each key means
(one module a format, at the desk of `reading`), and what several files say is put together (`settling`). Nothing is
guessed silently: each value comes with where it stands or why it was taken.
"""

from memplan.exchange.answers import model_answer
from memplan.exchange.importing import Imported, import_files
from memplan.exchange.notes import NOTE_TITLES, ImportNote

__all__ = ["NOTE_TITLES", "ImportNote", "Imported", "import_files", "model_answer"]
