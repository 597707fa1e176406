import type { OpenPoint } from './open-point.ts';

/** What the CRM answers around an export. */
export const ANSWERS = [
  {
    id: 'status-record',
    point: 'Record of stage 2',
    assumed: 'the whole record, with whatever other fields, `data` among them',
    tolerated: "bare shape first, then wrapped; the export's id is found under any of the names of stage 1",
    observed: 'the answers to the status reads',
    assumedIn: 'core/crm/exports.ts',
  },
  {
    id: 'create-5xx',
    point: '5xx at stage 1',
    assumed:
      'unknown whether an export was made: 500, 502, 504, 520, 522, 524, a cut or unreadable answer are *unanswered*',
    tolerated:
      'repeated once, after the largest wait (at least five minutes), counted in the manifest; 503, 429, 521, 523, 525, 526 mean not taken',
    cannotBeSeen: 'the CRM would have to fail, and nothing shows what it did then',
    assumedIn: 'core/crm/refusals.ts',
  },
  {
    id: 'error-bodies',
    point: 'Error bodies',
    assumed: 'anything, HTML included',
    tolerated: "status, content type and a machine code if there is one; never the body's values",
    observed: 'the answer to one status read of an export that cannot exist, and any other refusal',
    assumedIn: 'core/crm/refusals.ts',
  },
  {
    id: 'rate-limits',
    point: 'Rate limits',
    assumed: '429, with or without Retry-After (seconds or HTTP date)',
    tolerated: 'own back-off with jitter where it is missing',
    observed: 'where a call is answered 429; headers that name a limit are told',
    assumedIn: 'core/crm/refusals.ts',
  },
  {
    id: 'status-words',
    point: 'Status words',
    assumed: 'the four of the document, any letter case',
    tolerated: 'any other word: `CrmContractError`, never "done", never an endless loop',
    observed: 'the words of the status reads',
    assumedIn: 'core/crm/exports.ts',
  },
  {
    id: 'empty-exports',
    point: 'Empty exports',
    assumed: 'legal',
    tolerated:
      "stored, with `rows: 0` and a warning; whether it may take the place of a night that had rows is the guards' decision",
    observed: 'where the file has no rows',
    assumedIn: 'core/content/read-stream.ts',
  },
] as const satisfies readonly OpenPoint[];
