"""The retriever searches an index in another language."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.corpus import Passage
from otel_raglog.lab.inject.edits import with_retrieved
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.stores import Hit
from otel_raglog.model import Stage

FOREIGN = (
    ("Öffnungszeiten", "Die Bibliothek ist montags bis freitags von neun bis achtzehn Uhr geöffnet. Am Wochenende bleibt sie geschlossen."),
    ("Der Fluss", "Der Fluss entspringt in den Bergen, fließt durch drei Länder und mündet nach rund achthundert Kilometern in das Meer."),
    ("Rezept", "Man verrührt Mehl, Eier und Milch zu einem glatten Teig und lässt ihn eine halbe Stunde ruhen, bevor man ihn ausbackt."),
    ("Geschichte der Stadt", "Die Stadt wurde im zwölften Jahrhundert gegründet und erhielt bald darauf das Recht, einen Markt abzuhalten."),
    ("Versicherung", "Schäden durch Feuer sind versichert, wenn sie innerhalb von vierzehn Tagen schriftlich gemeldet werden."),
    ("Die Brücke", "Die Brücke wurde im Krieg zerstört und danach in Stahl neu errichtet; sie trägt heute vier Fahrspuren."),
    ("Le marché", "Le marché se tient chaque samedi matin sur la grande place, même lorsqu'il pleut, sauf pendant les fêtes."),
    ("La reine", "La reine fut couronnée à l'âge de dix-huit ans et régna pendant plus de quarante années sur le pays."),
    ("Le train", "Le train de nuit part à vingt-deux heures et arrive le lendemain matin dans la capitale après deux arrêts."),
    ("La maladie", "La maladie se transmet par l'eau; les premiers symptômes apparaissent au bout de trois à cinq jours."),
    ("Le roman", "Le roman raconte la vie d'un instituteur de village et fut publié d'abord en feuilleton dans un journal."),
    ("Garantie", "La garantie couvre les pièces et la main d'œuvre pendant deux ans à compter de la date d'achat."),
    ("El equipo", "El equipo ganó el campeonato por primera vez después de una temporada en la que solo perdió dos partidos."),
    ("La ley", "La ley entró en vigor en enero y obliga a las empresas a publicar sus cuentas una vez al año."),
    ("El volcán", "El volcán está dormido desde hace siglos, pero los científicos vigilan la zona con varios instrumentos."),
    ("La canción", "La canción fue escrita en una sola noche y se convirtió en el mayor éxito de su carrera musical."),
    ("El museo", "El museo conserva más de mil obras y abre todos los días excepto los lunes y algunos festivos."),
    ("Horario", "Las clases comienzan a las ocho de la mañana y terminan a las dos de la tarde, con una pausa de media hora."),
)  # fmt: skip
"""Titles and texts, written for this purpose."""


class WrongLanguage:
    """German, French and Spanish passages in place of the English ones."""

    name = "wrong_language"
    stage = Stage.RETRIEVER
    types = ("no_relevant_chunk",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Replace every hit; scores stay as high as a search among strangers gives them."""
        some = rng.sample(range(len(FOREIGN)), min(len(run.retrieved), len(FOREIGN)))
        hits = tuple(
            Hit(Passage(f"x{place}", f"x{place}", *FOREIGN[place]), round(hit.score / 3, 4))
            for place, hit in zip(some, run.retrieved, strict=False)
        )
        return with_retrieved(run, hits)
