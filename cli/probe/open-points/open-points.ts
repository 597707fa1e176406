import { ACCESS } from './access.ts';
import { ANSWERS } from './answers.ts';
import { FILES } from './files.ts';
import { REQUEST } from './request.ts';
import { UPDATES } from './updates.ts';

/** Every row of docs/interface/open-points.md, in its order. */
export const OPEN_POINTS = [...REQUEST, ...ACCESS, ...FILES, ...ANSWERS, ...UPDATES] as const;

type Row = (typeof OPEN_POINTS)[number];
/** A point that a meeting with the CRM may show; the others have no observer, so nothing can call them as assumed. */
export type Observable = Extract<Row, { observed: string }>['id'];

export function isObservable(row: Row): row is Extract<Row, { observed: string }> {
  return 'observed' in row;
}
