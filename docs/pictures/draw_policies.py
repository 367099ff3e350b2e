#!/usr/bin/env python3
"""Draws the pictures of docs/policies.md from what `fairwater policy` answers to the examples there.

usage: docs/pictures/draw_policies.py [PROGRAM]     PROGRAM: build/release/bin/fairwater unless given
"""
import json
import pathlib
import subprocess
import sys
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "build/release/bin/fairwater"
COLOURS = ["#2f6f9f", "#d9822b", "#4c9f70", "#9b5094"]
PALE = "#e8edf1"
INK = "#22303c"


def policy(name, question):
    answer = subprocess.run([PROGRAM, "policy", name, "-"], input=json.dumps(question), text=True,
                            capture_output=True, check=True)
    return json.loads(answer.stdout)


class Picture:
    """An SVG of 640 by `height`, from the top left."""

    def __init__(self, title, height):
        self.height = height
        self.parts = [f'<title>{escape(title)}</title>',
                      f'<rect width="640" height="{height}" fill="#ffffff"/>']

    def rectangle(self, x, y, width, height, fill, stroke="none"):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
                          f'fill="{fill}" stroke="{stroke}"/>')

    def line(self, x1, y1, x2, y2, colour=INK, dashed=False, width=1):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}" stroke-width="{width}"{dash}/>')

    def circle(self, x, y, radius, fill):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"/>')

    def text(self, x, y, words, anchor="start", size=13, colour=INK):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
                          f'fill="{colour}">{escape(words)}</text>')

    def save(self, name):
        body = "\n".join(self.parts)
        (HERE / name).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {self.height}" '
            f'font-family="sans-serif">\n{body}\n</svg>\n')


def draw_saturation():
    times = [20, 10, 5, 4, 3.5, 3.2, 3.1, 3.0]
    points = [{"resources": {"cpu": i + 1}, "time": t} for i, t in enumerate(times)]
    answer = policy("saturation", {"points": points})
    picture = Picture("The saturation point: the point of the scaled curve nearest to the diagonal", 300)
    left, top, side = 60, 20, 240

    def place(i):
        return (left + side * i / (len(times) - 1),
                top + side * (1 - (times[i] - min(times)) / (max(times) - min(times))))

    picture.rectangle(left, top, side, side, PALE)
    picture.line(left, top + side, left + side, top + side)
    picture.line(left, top, left, top + side)
    picture.text(left + 48, top + side + 24, "cpu, 1 to 8, scaled to [0, 1]")
    picture.text(left - 8, top + 12, "time", "end")
    for i in range(len(times) - 1):
        picture.line(*place(i), *place(i + 1), COLOURS[0], width=2)
    for i in range(len(times)):
        picture.circle(*place(i), 6 if i == answer["index"] else 3.5,
                       COLOURS[1] if i == answer["index"] else COLOURS[0])
    x, y = place(answer["index"])
    foot = ((x - left) - (top + side - y)) / 2  # of the perpendicular to x + t = 0, from the corner
    picture.line(left - 30, top + side - 30, left + 30, top + side + 30, INK, dashed=True)
    picture.line(x, y, left + foot, top + side + foot, COLOURS[1], dashed=True)
    picture.text(340, 60, "distance of each point to x + t = 0")
    for i, distance in enumerate(answer["distance"]):
        y = 78 + i * 22
        chosen = i == answer["index"]
        picture.text(350, y + 11, str(i + 1), "end", 12)
        picture.rectangle(358, y, 220 * distance, 14, COLOURS[1] if chosen else COLOURS[0])
        picture.text(364 + 220 * distance, y + 11, f"{distance:.3f}", size=12)
    picture.save("saturation.svg")


def draw_drf():
    capacity = {"cpu": 9, "memory": 18}
    demands = {"A": {"cpu": 1, "memory": 4}, "B": {"cpu": 3, "memory": 1}}
    answer = policy("drf", {"capacity": capacity,
                            "users": [{"name": n, "demand": d} for n, d in demands.items()]})
    picture = Picture("Progressive filling: both dominant shares rise together", 280)
    base, full = 230, 180
    for column, resource in enumerate(capacity):
        x = 60 + column * 130
        picture.rectangle(x, base - full, 90, full, PALE)
        y = base
        for colour, (name, demand) in zip(COLOURS, demands.items()):
            for _ in range(answer["tasks"][name]):
                height = full * demand[resource] / capacity[resource]
                y -= height
                picture.rectangle(x, y, 90, height, colour, "#ffffff")
        picture.text(x + 45, base + 20,
                     f'{resource}: {answer["used"][resource]} of {capacity[resource]}', "middle")
    picture.text(330, 42, "dominant share")
    for row, (colour, name) in enumerate(zip(COLOURS, demands)):
        y = 60 + row * 40
        picture.rectangle(360, y, 240, 24, PALE)
        picture.rectangle(360, y, 240 * answer["share"][name], 24, colour)
        picture.text(350, y + 17, name, "end")
        picture.text(368, y + 17, f'{answer["tasks"][name]} tasks, {answer["share"][name]:.3f}',
                     colour="#ffffff")
    level = 360 + 240 * max(answer["share"].values())
    picture.line(level, 50, level, 135, INK, dashed=True)
    picture.text(level, 152, "level", "middle")
    picture.save("drf.svg")


def draw_gdrf():
    question = {"machines": [{"name": "wide", "capacity": {"cpu": 20, "memory": 8}, "count": 2},
                             {"name": "deep", "capacity": {"cpu": 8, "memory": 20}, "count": 2}],
                "users": [{"name": "C", "demand": {"cpu": 3, "memory": 1}},
                          {"name": "M", "demand": {"cpu": 1, "memory": 3}}]}
    names = ["gdrf", "drfh-best-fit", "drfh-first-fit"]
    picture = Picture("The same cluster filled by three policies", 200)
    for row, name in enumerate(names):
        answer = policy("gdrf", dict(question, policy=name))
        y = 40 + row * 50
        picture.text(130, y + 17, name, "end")
        x = 145
        for colour, (user, placed) in zip(COLOURS, answer["placed"].items()):
            picture.rectangle(x, y, 12 * placed, 24, colour)
            picture.text(x + 6 * placed, y + 17, f"{user} {placed}", "middle", colour="#ffffff")
            x += 12 * placed
        used = ", ".join(f"{r} {part:.0%}" for r, part in answer["utilization"].items())
        picture.text(x + 10, y + 17, f'{answer["total"]} tasks; {used}')
    picture.save("gdrf.svg")


def draw_qrea():
    question = {"units": 10, "users": [
        {"name": "u1", "quota": 5, "credit": 0, "running": [{"id": "a", "min": 3, "max": 6, "now": 6}]},
        {"name": "u2", "quota": 8, "credit": 0, "running": [{"id": "b", "min": 4, "max": 4, "now": 4}],
         "queued": [{"id": "c", "min": 2, "max": 4}]}]}
    answer = policy("qrea", question)
    before = {job["id"]: (job["min"], job["now"]) for user in question["users"] for job in user["running"]}
    minimum = {job["id"]: job["min"] for user in question["users"] for job in user.get("queued", [])}
    after = dict(before)
    for move in answer["limit"]:
        low, now = after[move["id"]]
        after[move["id"]] = (low, now - move["units"])
    for move in answer["start"]:
        after[move["id"]] = (minimum[move["id"]], move["units"])
    for move in answer["grow"]:
        low, now = after[move["id"]]
        after[move["id"]] = (low, now + move["units"])
    picture = Picture("A round of QREA: extras are taken back so that a job within its quota starts", 170)
    for row, (label, jobs) in enumerate([("before", before), ("after", after)]):
        y, x, unit = 30 + row * 60, 80, 44
        picture.text(70, y + 22, label, "end")
        for colour, (job, (low, now)) in zip(COLOURS, jobs.items()):
            picture.rectangle(x, y, unit * low, 34, colour, "#ffffff")
            picture.text(x + 8, y + 22, f"{job}: min {low}", colour="#ffffff")
            if now > low:
                picture.rectangle(x + unit * low, y, unit * (now - low), 34, "#ffffff", colour)
                picture.text(x + unit * low + 8, y + 22, f"{now - low} extra")
            x += unit * now
    credits = ", ".join(f"{name} {credit:+.3g}" for name, credit in answer["credit"].items())
    picture.text(80, 158, f"credit afterwards: {credits}")
    picture.save("qrea.svg")


if __name__ == "__main__":
    draw_saturation()
    draw_drf()
    draw_gdrf()
    draw_qrea()
