import { styleText } from 'node:util';

export { countText, numberText } from '../../core/count-text.ts';

/** Characters that control a terminal: C0 and C1 controls, and characters that change the direction of a text. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Escapes control characters as JSON does: `\u001b`. Line breaks and tabs stay. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (control) => {
    if (control === '\n' || control === '\t') return control;
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** A foreign text on one line, with its control characters escaped. */
export function printableLine(text: string): string {
  return escapeControls(text.replace(/[\t\n\r]+/g, ' ').trim());
}

/** Rows under headings, with columns as wide as their widest cell. Cells may be foreign text: controls are escaped. */
export function textTable(headings: string[], rows: string[][]): string {
  const all = [headings, ...rows].map((row) => row.map(printableLine));
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: string[]) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd();
  return all.map(line).join('\n');
}

/** The meaning of a text. The words of the text express it too, because colours may be missing. */
export type Tone = 'good' | 'warned' | 'bad' | 'open' | 'idle' | 'unknown';

/** The sign of each tone, for output without colour. */
export const SIGNS: Record<Tone, string> = { good: '✓', warned: '!', bad: '✕', open: '…', idle: '·', unknown: '?' };

const COLORS = { good: 'green', warned: 'yellow', bad: 'red', open: 'cyan', idle: 'dim', unknown: 'yellow' } as const;

/** Whether a stream shows colours: if it is a terminal, and NO_COLOR is not set. */
export function isColored({ isTTY }: { isTTY?: boolean }): boolean {
  return isTTY === true && !process.env.NO_COLOR;
}

export function painterOf(stream: { isTTY?: boolean }): (tone: Tone) => (text: string) => string {
  return (tone) => (text) => (isColored(stream) ? styleText(COLORS[tone], text, { validateStream: false }) : text);
}

/** A duration: `4.2 s`, `3 min 20 s`, `2 h 5 min`. */
export function durationText(seconds: number): string {
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const parts =
    hours > 0 ? [`${hours} h`, minutes && `${minutes} min`] : [`${minutes} min`, whole % 60 && `${whole % 60} s`];
  return parts.filter(Boolean).join(' ');
}

/** Text from the CRM for a terminal: at most 200 printable ASCII characters. */
export function asciiText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, 200);
}

/** A number of bytes in a readable unit; empty for null. */
export function bytesText(bytes: number | null): string {
  if (bytes === null) return '';
  if (bytes < 10_000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power - 1]}`;
}
