"""The chart: CPU per request and throughput of each case, as bars, in one SVG written by hand."""
from html import escape

ROW, LABEL, WIDTH, HEAD = 22, 300, 300, 58
COLOURS = {"nginx": "#7a8793", "haproxy": "#7a8793", "express": "#c58b3a", "fastify": "#c58b3a"}


def colour(case):
    return next((shade for name, shade in COLOURS.items() if case.startswith(name)), "#2b6cb0")


def bar(x, y, value, largest, shade, text):
    width = WIDTH * value / largest if largest else 0
    return (f'<rect x="{x}" y="{y + 4}" width="{width:.1f}" height="{ROW - 8}" fill="{shade}"/>'
            f'<text x="{x + width + 5:.1f}" y="{y + 15}">{text}</text>')


def draw(result):
    rows = result["rows"]
    height = HEAD + ROW * len(rows) + 12
    width = LABEL + 2 * (WIDTH + 80)
    info = result["machine"]
    title = (f"{info['cores']} x {info['cpu']}, Linux {info['kernel']}; {result['rounds']} interleaved rounds of "
             f"{result['seconds']} s, medians")
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>', f'<text x="10" y="20">{escape(title)}</text>',
           f'<text x="{LABEL}" y="46" font-weight="bold">CPU microseconds per request, least of the rounds (less is better)</text>',
           f'<text x="{LABEL + WIDTH + 80}" y="46" font-weight="bold">requests per second (more is better)</text>']
    most_cpu = max((row["cpu_us_least"] for row in rows), default=0)
    most_rps = max((row["rps"] for row in rows), default=0)
    for index, row in enumerate(rows):
        y = HEAD + ROW * index
        shade = colour(row["case"])
        out.append(f'<text x="{LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(row["case"])}</text>')
        out.append(bar(LABEL, y, row["cpu_us_least"], most_cpu, shade, f'{row["cpu_us_least"]:.1f}'))
        out.append(bar(LABEL + WIDTH + 80, y, row["rps"], most_rps, shade, f'{row["rps"]:,.0f}'))
    out.append("</svg>\n")
    return "\n".join(out)
