import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import type { Entity } from '../../core/config/entities.ts';
import type { Cell, Nights } from '../night/night.ts';
import { bytesText, numberText } from '../support/text.ts';
import { html, Markup } from './html.ts';
import { shortDate } from './night-words.ts';

const WIDTH = 264;
const HEIGHT = 124;
/** Space for labels of 10 px: `100.5 MB` beside its tick, and half of `20 Nov` below the newest point. */
const MARGINS = { marginLeft: 60, marginRight: 20, marginTop: 10, marginBottom: 28 };

const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

const MEASURES = [
  {
    id: 'rows',
    title: 'Rows',
    of: ({ published }: Cell) => published?.file.rows ?? null,
    text: numberText,
    tick: (value: number) => short.format(value),
  },
  {
    id: 'bytes',
    title: 'Bytes',
    of: ({ published }: Cell) => published?.file.bytes ?? null,
    text: bytesText,
    tick: (value: number) => (value === 0 ? '0' : bytesText(value).replace(/\.0 /, ' ')),
  },
];
type Measure = (typeof MEASURES)[number];

export function plotSections(data: Nights): Markup[] {
  return MEASURES.map((measure) => {
    const figures = data.rows.map(({ entity, cells }) => figure(measure, entity, cells));
    return html`<section aria-labelledby="${measure.id}"><h2 id="${measure.id}">${measure.title}</h2>
<div class="figures">${figures}</div></section>`;
  });
}

function figure(measure: Measure, entity: Entity, cells: Cell[]): Markup {
  const summary = summaryOf(measure, cells);
  const label = `${measure.title} of ${entity} by night: ${summary.join(', ')}`;
  return html`<figure><figcaption><b>${entity}</b>${summary.map((line) => html` <span>${line}</span>`)}</figcaption>${drawing(measure, cells, label)}</figure>`;
}

function summaryOf({ of, text }: Measure, cells: Cell[]): string[] {
  const values = cells.flatMap((cell) => of(cell) ?? []);
  const last = cells.findLast((cell) => of(cell) !== null);
  if (!last) return ['no data'];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const range = low === high ? `always ${text(low)}` : `${text(low)} to ${text(high)}`;
  return [`${text(of(last) ?? 0)} on ${shortDate(last.date)}`, range];
}

/** Drawn without a browser. Every colour is a variable of the page, so the drawing follows the theme. */
function drawing(measure: Measure, cells: Cell[], label: string): Markup {
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const points = cells.map((cell) => ({ date: new Date(cell.date), value: measure.of(cell) ?? Number.NaN }));
  const gaps = cells.filter(({ missing }) => missing).map(({ date }) => ({ date: new Date(date) }));
  const line = { x: 'date', y: 'value', stroke: 'var(--accent)' };
  const largest = Math.max(0, ...points.map(({ value }) => value).filter(Number.isFinite));
  const svg = Plot.plot({
    document,
    className: 'plot',
    width: WIDTH,
    height: HEIGHT,
    ...MARGINS,
    x: {
      type: 'utc',
      label: null,
      ticks: datesShown(points),
      tickFormat: '%-d %b',
      domain: [points[0]?.date, points.at(-1)?.date],
    },
    y: { domain: [0, largest * 1.1 || 1], label: null, ticks: 3, grid: true, tickFormat: measure.tick },
    marks: [
      Plot.areaY(points, { x: 'date', y1: 0, y2: 'value', fill: 'var(--accent)', fillOpacity: 0.12 }),
      Plot.lineY(points, { ...line, strokeWidth: 1.75 }),
      Plot.dot(points, { ...line, r: 1.8, fill: 'var(--accent)' }),
      Plot.dot(gaps, { x: 'date', y: 0, symbol: 'times', stroke: 'var(--bad)', r: 3.2 }),
      Plot.ruleY([0], { strokeOpacity: 0.35 }),
    ],
  });
  // The plot becomes one labelled image for screen readers. The page has its style, because the policy allows no other.
  for (const style of svg.querySelectorAll('style')) style.remove();
  for (const group of svg.querySelectorAll('[aria-label]')) group.removeAttribute('aria-label');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  return new Markup(svg.outerHTML);
}

/** At most four dates, including the newest. */
function datesShown(points: { date: Date }[]): Date[] {
  const every = Math.ceil(points.length / 4);
  return points.map(({ date }) => date).filter((_, index) => (points.length - 1 - index) % every === 0);
}
