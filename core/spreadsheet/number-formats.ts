/** What a number is shown as. A duration counts hours beyond 24. */
export type Shown = 'number' | 'date' | 'moment' | 'time' | 'duration';

/** ECMA-376, part 1, 18.8.30; those of East Asia are dates in all their languages. */
const BUILT_IN: [from: number, to: number, shown: Shown][] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'moment'],
  [27, 31, 'date'],
  [32, 35, 'time'],
  [36, 36, 'date'],
  [45, 45, 'time'],
  [46, 46, 'duration'],
  [47, 47, 'time'],
  [50, 54, 'date'],
  [55, 56, 'time'],
  [57, 58, 'date'],
];

export function shownByBuiltIn(id: number): Shown {
  return BUILT_IN.find(([from, to]) => id >= from && id <= to)?.[2] ?? 'number';
}

/** Texts, escaped characters, widths and fillings, what is in brackets but hours, minutes and seconds that go on counting. */
const NO_PLACEHOLDER = /"[^"]*"?|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]?/gis;

/** What a format code of a workbook shows a number as, by its first section. */
export function shownByCode(code: string): Shown {
  const [first = ''] = code.replaceAll(NO_PLACEHOLDER, ' ').split(';');
  const text = first.toLowerCase().replaceAll('general', ' ');
  if (/\[[hms]+\]/.test(text)) return 'duration';
  const time = /[hs]|am\/pm|a\/p/.test(text);
  // An `m` beside hours or seconds means minutes.
  const date = /[yd]|b{2}/.test(text) || (!time && text.includes('m'));
  if (date) return time ? 'moment' : 'date';
  return time ? 'time' : 'number';
}
