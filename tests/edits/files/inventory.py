"""Keeps what is in stock, and says what to order."""

from dataclasses import dataclass, field


@dataclass
class Item:
    """One kind of thing on the shelf."""

    name: str
    count: int = 0
    tags: list[str] = field(default_factory=list)

    def is_low(self, limit: int = 5) -> bool:
        # The limit itself is still enough.
        return self.count < limit


class Inventory:
    def __init__(self, path: str) -> None:
        self.path = path
        self.items: dict[str, Item] = {}

    def add(self, name: str, count: int) -> Item:
        if count < 0:
            raise ValueError("count must not be negative")

        item = self.items.setdefault(name, Item(name))
        # Counts add up over deliveries.
        item.count += count
        return item

    def remove(self, name: str, count: int) -> Item:
        if count < 0:
            raise ValueError("count must not be negative")

        item = self.items[name]
        if item.count < count:
            raise KeyError(f"only {item.count} of {name} left")
        item.count -= count
        return item

    def report(self) -> str:
        lines = []
        for item in sorted(self.items.values(), key=lambda item: item.name):
            mark = "!" if item.is_low() else " "
            lines.append(f"{mark} {item.name:<20}{item.count:>6}")
        return "\n".join(lines)


def load(path: str) -> Inventory:
    inventory = Inventory(path)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, _, count = line.partition("\t")
            inventory.add(name.strip(), int(count))
    return inventory
