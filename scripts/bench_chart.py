"""The chart that README shows: how often a copy fits into one migration, folder by folder."""

from html import escape

LEFT, WIDTH, BAR, GAP, TOP = 170, 470, 20, 12, 48


def svg(results, claims, footer):
    """Draws the rows in memory that were compared with `cp -r`."""
    rows = [(claim["folder"].partition(",")[0], claim) for claim in claims if claim["claim"] == "migrate over cp -r"]
    scale = WIDTH / max(max(claim["measured"], claim["limit"]) for _, claim in rows)
    height = TOP + len(rows) * (BAR + GAP) + 40
    sizes = {result["folder"]: result.get("source_bytes") for result in results}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 80} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{LEFT + WIDTH + 80}" height="{height}" fill="#fff"/>',
        '<text x="16" y="26" font-size="15" fill="#222">migrate, both proofs on, as a multiple of cp -r (shorter is better)</text>',
    ]
    for n, (name, claim) in enumerate(rows):
        y, measured, limit = TOP + n * (BAR + GAP), claim["measured"], claim["limit"]
        colour = "#2a7f62" if claim["met"] else "#b3541e"
        size = f" ({sizes[name] / 1e6:,.0f} MB)" if isinstance(sizes.get(name), int) else ""
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end" fill="#222">{escape(name + size)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{measured * scale:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<text x="{LEFT + measured * scale + 6:.1f}" y="{y + 15}" fill="#222">{measured:.1f} x</text>',
            f'<line x1="{LEFT + limit * scale:.1f}" x2="{LEFT + limit * scale:.1f}" y1="{y - 3}" y2="{y + BAR + 3}" stroke="#222" stroke-dasharray="3 2"/>',
        ]
    parts += [f'<text x="16" y="{height - 14}" font-size="11" fill="#555">dashed: the most it may be. {escape(footer)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"
