// Draws the charts of a page with Chart.js. Each <figure class="chart"> holds its data as JSON, as sim/page_data.cpp
// writes it. Afterwards <body data-charts> says how many charts were drawn.
"use strict";
(() => {
  const COLOURS = 8; // as page.css has them
  // Chart.js's names of markers, and the same in the legend.
  const MARKERS = {
    circle: "M12 2a4 4 0 0 0 0 8a4 4 0 0 0 0-8z",
    triangle: "M12 1l5 9h-10z",
    rect: "M8 2h8v8h-8z",
    rectRot: "M12 1l5 5l-5 5l-5-5z",
  };
  const DASHES = [[], [6, 4], [2, 3]]; // a colour that comes back has another dash
  const MANY_CATEGORIES = 20; // of more not every name finds room
  const MANY_POINTS = 60; // a line of more is drawn without markers

  const darkMode = matchMedia("(prefers-color-scheme: dark)");
  const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const markerOf = (index) => Object.keys(MARKERS)[index % Object.keys(MARKERS).length];
  const seriesColour = (index) => colourOf(`series-${(index % COLOURS) + 1}`);
  const dashOf = (index) => DASHES[Math.floor(index / COLOURS) % DASHES.length];
  const rounded = (number) => String(Number(number.toPrecision(6)));

  // From the lowest to the highest end of an error on the y axis; a logarithmic one has no place for ends below it.
  function errorRange(data, series, index) {
    const y = series.points[index][1];
    const error = series.error[index];
    const low = y - error;
    return [data.y_scale === "logarithmic" && low <= 0 ? y / 10 : low, y + error];
  }

  function seriesDataset(data, series, index) {
    const colour = seriesColour(index);
    const isLine = data.kind === "line" || data.kind === "steps";
    return {
      series: index,
      label: series.name,
      data: data.kind === "bars" ? barValues(data, series) : series.points.map(([x, y]) => ({ x, y })),
      borderColor: colour,
      backgroundColor: colour,
      borderWidth: isLine ? 2 : 0,
      borderDash: dashOf(index),
      showLine: isLine,
      stepped: data.kind === "steps",
      pointRadius: isLine && series.points.length > MANY_POINTS ? 0 : 3,
      pointHitRadius: 6,
      pointStyle: markerOf(index),
      pointBorderWidth: 1.5,
      clip: 5, // markers at the edge stay whole
      maxBarThickness: 48,
    };
  }

  function barValues(data, series) {
    const values = data.categories.map(() => null);
    for (const [x, y] of series.points) values[x] = y;
    return values;
  }

  // Two lines without a stroke, filled between: the confidence interval of a line.
  function bandDatasets(data, series, index) {
    const ends = series.points.map((point, i) => [point[0], ...errorRange(data, series, i)]);
    const edge = { series: index, isBand: true, borderWidth: 0, pointRadius: 0, pointHitRadius: 0, showLine: true,
                   stepped: data.kind === "steps" };
    return [
      { ...edge, data: ends.map(([x, low]) => ({ x, y: low })) },
      { ...edge, data: ends.map(([x, , high]) => ({ x, y: high })), fill: "-1", backgroundColor: `${seriesColour(index)}38` },
    ];
  }

  // Confidence intervals of bars and single points.
  const whiskers = {
    id: "whiskers",
    afterDatasetsDraw(chart, _, { data }) {
      const pen = chart.ctx;
      const place = (y) => chart.scales.y.getPixelForValue(y);
      pen.save();
      pen.lineWidth = 1.5;
      chart.data.datasets.forEach((dataset, datasetIndex) => {
        const series = data.series[dataset.series];
        if (!chart.isDatasetVisible(datasetIndex) || series.error.length === 0) return;
        pen.strokeStyle = data.kind === "bars" ? colourOf("text") : dataset.borderColor;
        const elements = chart.getDatasetMeta(datasetIndex).data;
        pen.beginPath();
        series.points.forEach(([x], i) => {
          const middle = elements[data.kind === "bars" ? x : i].x;
          const [low, high] = errorRange(data, series, i).map(place);
          pen.moveTo(middle, low);
          pen.lineTo(middle, high);
          for (const end of [low, high]) {
            pen.moveTo(middle - 4, end);
            pen.lineTo(middle + 4, end);
          }
        });
        pen.stroke();
      });
      pen.restore();
    },
  };

  function axis(scale) {
    return { type: scale, grid: { color: colourOf("line"), borderColor: colourOf("line") },
             ticks: { color: colourOf("quiet"), maxRotation: 0, autoSkipPadding: 12 } };
  }

  function axes(data) {
    const x = data.kind === "bars" ? { ...axis("category"), labels: data.categories } : axis(data.x_scale);
    const y = axis(data.y_scale);
    if (data.kind === "bars") {
      x.grid.display = false;
      x.ticks = { ...x.ticks, maxRotation: 60, autoSkip: data.categories.length > MANY_CATEGORIES };
    }
    if (data.kind === "line" || data.kind === "steps") {
      // Lines reach from edge to edge; the marks on the axis stay round numbers.
      const places = data.series.flatMap((series) => series.points.map(([place]) => place));
      x.min = Math.min(...places);
      x.max = Math.max(...places);
      x.ticks.includeBounds = false;
    }
    const ends = data.series.flatMap((series) => series.error.flatMap((_, i) => errorRange(data, series, i)));
    if (ends.length > 0) {
      y.suggestedMin = Math.min(...ends);
      y.suggestedMax = Math.max(...ends);
    }
    return { x, y };
  }

  function tooltipText(data, item) {
    const series = data.series[item.dataset.series];
    const index = data.kind === "bars" ? series.points.findIndex(([x]) => x === item.dataIndex) : item.dataIndex;
    const [x, y] = series.points[index];
    const error = series.error.length > 0 ? ` ± ${rounded(series.error[index])}` : "";
    const place = data.kind === "bars" ? "" : ` at ${rounded(x)}`;
    return `${series.name}: ${rounded(y)}${error}${place}`;
  }

  function configuration(data) {
    const hasBand = data.kind === "line" || data.kind === "steps";
    const datasets = data.series.map((series, index) => seriesDataset(data, series, index));
    if (hasBand)
      data.series.forEach((series, index) => {
        if (series.error.length > 0) datasets.push(...bandDatasets(data, series, index));
      });
    return {
      type: data.kind === "bars" ? "bar" : "scatter",
      data: { datasets },
      plugins: hasBand ? [] : [whiskers],
      options: {
        animation: false,
        locale: "en",
        maintainAspectRatio: false,
        interaction: { mode: "nearest", axis: "xy", intersect: false },
        scales: axes(data),
        plugins: {
          legend: { display: false }, // ours is HTML: it wraps, and takes nothing from the plot
          tooltip: {
            filter: (item) => !item.dataset.isBand,
            callbacks: { title: () => "", label: (item) => tooltipText(data, item) },
          },
          whiskers: { data },
        },
      },
    };
  }

  function legendMark(data, index) {
    const colour = seriesColour(index);
    const shapes = {
      bars: `<path d="M6 0h12v12h-12z" fill="${colour}"/>`,
      points: `<path d="${MARKERS[markerOf(index)]}" fill="${colour}"/>`,
    };
    const line = `<path d="M0 6h24" stroke="${colour}" stroke-width="3" stroke-dasharray="${dashOf(index)}"/>`;
    return `<svg width="24" height="12" aria-hidden="true">${shapes[data.kind] ?? line}</svg>`;
  }

  // One button per series, which hides it and shows it again.
  function fillLegend(legend, data, chart) {
    legend.replaceChildren();
    if (data.series.length === 1 && data.series[0].name === "") return;
    data.series.forEach((series, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.innerHTML = legendMark(data, index);
      button.append(series.name);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        chart.data.datasets.forEach((dataset, i) => {
          if (dataset.series === index) chart.setDatasetVisibility(i, shown);
        });
        chart.update();
      });
      legend.append(button);
    });
  }

  function draw(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const canvas = figure.querySelector("canvas");
    Chart.getChart(canvas)?.destroy();
    const chart = new Chart(canvas, configuration(data));
    fillLegend(figure.querySelector(".legend"), data, chart);
  }

  function drawAll() {
    const figures = document.querySelectorAll("figure.chart");
    figures.forEach(draw);
    document.body.dataset.charts = String(figures.length);
  }

  drawAll();
  darkMode.addEventListener("change", drawAll);
})();
