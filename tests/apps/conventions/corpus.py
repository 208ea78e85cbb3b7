"""What the applications search: eight short pages of a ferry company that does not exist."""

from __future__ import annotations

PAGES: dict[str, str] = {
    "bicycles": "Bicycles travel on every Tarrow ferry for 4 euro each way. Tandems pay 7 euro.",
    "dogs": "Dogs stay on the car deck or on a lead in the outer saloon. Guide dogs travel free.",
    "refunds": "A ticket is refunded in full until 24 hours before departure, and by half after that.",
    "winter": "From November to March the ferry to Orsay leaves at 07:10 and at 16:40 only.",
    "cars": "Cars must be at the ramp 30 minutes before departure. Electric cars load last.",
    "groups": "Groups of ten or more get 15 percent off when they book a week ahead.",
    "luggage": "Each passenger may bring two pieces of luggage of 25 kilograms.",
    "lost": "Lost property is kept for 60 days in the office at Tarrow pier.",
}
QUESTION = "What does it cost to take a bicycle on the ferry?"
ANSWER = "Taking a bicycle costs 4 euro each way."
