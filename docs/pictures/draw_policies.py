#!/usr/bin/env python3
"""Draws the pictures of docs/policies.md from what `fairwater policy` answers to the examples there.

usage: docs/pictures/draw_policies.py [PROGRAM]     PROGRAM: build/release/bin/fairwater unless given
"""
import json
import math
import subprocess
import sys

from picture import COLOURS, HERE, INK, PALE, Picture

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "build/release/bin/fairwater"


def policy(name, question):
    answer = subprocess.run([PROGRAM, "policy", name, "-"], input=json.dumps(question), text=True,
                            capture_output=True, check=True)
    return json.loads(answer.stdout)


def draw_sequence():
    tenants = {"A": 5, "B": 3, "C": 2}
    start, slots = 3, 4
    question = {"tenants": [{"name": n, "weight": w} for n, w in tenants.items()],
                "events": [{"slots": start}, {"slots": slots}]}
    picture = Picture("One period of the sequence by both methods, each slot with its key", 226)
    left, step = 130, 48
    for y, method in [(52, "max-deficit"), (132, "min-ratio")]:
        answer = policy("sequence", dict(question, method=method))
        picture.text(left - 10, y + 21, method, "end")
        had = dict.fromkeys(tenants, 0)
        for i, name in enumerate(answer["order"]):
            weight = tenants[name]
            key = weight - had[name] - 1 if method == "max-deficit" else had[name]
            had[name] += 1
            x = left + i * step
            picture.rectangle(x, y, step, 32, COLOURS[list(tenants).index(name)], "#ffffff")
            picture.text(x + step / 2, y + 21, name, "middle", colour="#ffffff")
            picture.text(x + step / 2, y + 49, f"{key}/{weight}", "middle", 12)
        if method == "max-deficit":
            before, after = answer["events"]
    x1, x2 = left + start * step, left + (start + slots) * step
    for x in (x1, x2):
        picture.line(x, 36, x, 92, INK, dashed=True)
    picture.line(x1, 36, x2, 36)
    granted = ", ".join(f"{name} {n}" for name, n in after["granted"].items())
    picture.text((x1 + x2) / 2, 26, f"a window of {slots}: {granted}", "middle")
    parts = ", ".join(f'{name} {after["total"][name]} - {before["total"][name]}' for name in tenants)
    picture.text(left, 213, f"by two counts, up to slot {start + slots} and up to slot {start}: {parts}", size=12)
    picture.save("sequence.svg")


def draw_sized():
    tenants = {"A": (50, [12, 15, 8, 6, 11, 10, 14, 9]), "B": (30, [8, 6, 10, 11, 5, 7, 6, 5])}
    question = {"tenants": [{"name": n, "weight": w, "tasks": t} for n, (w, t) in tenants.items()],
                "heartbeats": [30, 35, 32, 31, 20]}
    answer = policy("sized", question)
    picture = Picture("Five heartbeats of the sized mode: what fell to two tenants and what they placed", 330)
    left, unit = 100, 10
    picture.text(left, 24, "thin: what fell to each; thick: what was placed", size=12)
    picture.text(left + 35 * unit + 24, 24, "balance", size=12)
    for row, heartbeat in enumerate(answer["heartbeats"]):
        y, x = 42 + row * 54, left
        picture.text(left - 10, y + 27, f'{heartbeat["units"]} units', "end")
        for colour, name in zip(COLOURS, tenants):
            fell = heartbeat["granted"][name]
            picture.rectangle(x, y, unit * fell, 7, colour, "#ffffff")
            x += unit * fell
        x = left
        for colour, name in zip(COLOURS, tenants):
            for size in heartbeat["placed"][name]:
                picture.rectangle(x, y + 9, unit * size, 28, colour, "#ffffff")
                picture.text(x + unit * size / 2, y + 28, f"{name} {size}", "middle", colour="#ffffff")
                x += unit * size
        picture.rectangle(x, y + 9, unit * heartbeat["unused"], 28, PALE, "#ffffff")
        picture.text(x + unit * heartbeat["unused"] / 2, y + 28, str(heartbeat["unused"]), "middle", 12)
        balance = ", ".join(f"{name} {units:+d}" for name, units in heartbeat["balance"].items())
        picture.text(left + 35 * unit + 24, y + 27, balance)
    ious = "; ".join(f'{iou["debtor"]} owes {iou["creditor"]} {iou["units"]}' for iou in answer["ious"])
    picture.text(left, 318, f"in the end {ious}")
    picture.save("sized.svg")


def draw_ledger():
    tenants = ["a", "b", "c"]
    ious = [{"debtor": "a", "creditor": "c", "units": 6}, {"debtor": "b", "creditor": "c", "units": 4}]
    picture = Picture("A debtor lends: what it owes moves to the borrower first", 246)
    for column, units in enumerate([0, 3, 6]):
        operations = [{"lend": {"from": "b", "to": "a", "units": units}}] if units else []
        answer = policy("ledger", {"tenants": [{"name": n, "weight": 1} for n in tenants],
                                   "ious": ious, "operations": operations})
        left = 20 + column * 205
        places = {"a": (left + 35, 170), "b": (left + 155, 170), "c": (left + 95, 62)}
        picture.text(left + 95, 24, f"b lends {units} to a" if units else "before", "middle")
        for iou in answer["ious"]:
            (x1, y1), (x2, y2) = places[iou["debtor"]], places[iou["creditor"]]
            length = math.hypot(x2 - x1, y2 - y1)
            dx, dy = 22 * (x2 - x1) / length, 22 * (y2 - y1) / length
            picture.arrow(x1 + dx, y1 + dy, x2 - dx, y2 - dy, INK)
            side = {("a", "c"): (-16, 0), ("b", "c"): (16, 0), ("a", "b"): (0, -8)}
            aside = side[(iou["debtor"], iou["creditor"])]
            picture.text((x1 + x2) / 2 + aside[0], (y1 + y2) / 2 + aside[1], str(iou["units"]), "middle")
        for colour, (name, (x, y)) in zip(COLOURS, places.items()):
            picture.circle(x, y, 18, colour)
            picture.text(x, y + 5, name, "middle", colour="#ffffff")
            net = f'net {answer["net"][name]:+d}' if answer["net"][name] else "net 0"
            if name == "c":
                picture.text(x + 26, y + 5, net, size=12)
            else:
                picture.text(x, y + 36, net, "middle", 12)
    picture.text(20, 236, "an arrow goes from who owes to who is owed", size=12)
    picture.save("ledger.svg")


def draw_water_fill():
    groups = [("A", 2, 10, None, 60), ("B", 1, 0, None, 15), ("C", 3, 0, 40, 90), ("D", 2, 20, None, 30)]
    question = {"capacity": {"cpu": 101}, "groups": []}
    for name, weight, low, high, request in groups:
        group = {"name": name, "weight": weight, "min": {"cpu": low}, "request": {"cpu": request}}
        if high is not None:
            group["max"] = {"cpu": high}
        question["groups"].append(group)
    answer = policy("water-fill", question)
    picture = Picture("Water-fill: groups as wide as their weights, filled to one level", 346)
    left, wide, high_unit, zero = 80, 58, 7, 200
    x = left
    for name, weight, low, high, request in groups:
        width = wide * weight
        wanted = request if high is None else min(request, high)
        base = min(wanted, low)
        poured = answer["runtime"][name]["cpu"] - base
        for amount, y, colour in [(wanted - base, zero - high_unit * (wanted - base) / weight, PALE),
                                  (poured, zero - high_unit * poured / weight, COLOURS[0]),
                                  (base, zero, COLOURS[1])]:
            picture.rectangle(x, y, width, high_unit * amount / weight, colour, "#ffffff")
        if base:
            picture.text(x + width / 2, zero + 20, f"min {base}", "middle", colour="#ffffff")
        picture.text(x + width / 2, zero - 10, f"+ {poured}", "middle", colour="#ffffff")
        picture.text(x + width / 2, zero + 90, name if high is None else f"{name}, max {high}", "middle")
        picture.text(x + width / 2, zero + 108, f"{base + poured} of {wanted}", "middle", 12)
        x += width
    picture.line(left - 10, zero, x, zero)
    level = zero - high_unit * answer["level"]["cpu"]
    picture.line(left - 10, level, x, level, INK, dashed=True)
    picture.text(x + 4, level + 4, f'level {answer["level"]["cpu"]:.2f}', size=12)
    picture.text(left, zero + 134, "width: weight; area: amount; pale: asked for but not given", size=12)
    picture.save("water-fill.svg")


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
    draw_sequence()
    draw_sized()
    draw_ledger()
    draw_water_fill()
    draw_saturation()
    draw_drf()
    draw_gdrf()
    draw_qrea()
