interface Facts {
  rows: number | null;
  header: string[] | null;
  requested: string[];
  /** The configuration accepts that the header has other columns. */
  accepted: boolean;
  irregular: number;
  /** Of the content (`contents.ts`). */
  remarks: string[];
  unansweredCreates: number;
  restarts: number;
  undeclaredEnd: boolean;
}

/** For readers of the file, in sentences. None of them stops a publication. */
export function warningsOf({ header, requested, restarts, ...facts }: Facts): string[] {
  const many = restarts === 1 ? 'once' : `${restarts} times`;
  const warnings: [holds: boolean, warning: string][] = [
    [facts.rows === 0, 'The file has no rows.'],
    [
      !facts.accepted && header !== null && header.length !== requested.length,
      `The header has ${header?.length} columns; ${requested.length} were requested.`,
    ],
    [
      !facts.accepted && header?.length === requested.length && header.some((name, index) => name !== requested[index]),
      'The header names the columns otherwise than they were requested.',
    ],
    [facts.irregular > 0, `${facts.irregular} rows have another number of fields than the first record.`],
    [
      facts.unansweredCreates > 0,
      'Whether a first request made an export is not known (its answer was lost, unreadable, or an error that does not say): the CRM may hold a further export that nobody collects.',
    ],
    [restarts > 0, `The file was restarted ${many}: it had changed at its origin, or what was stored of it was gone.`],
    [
      facts.undeclaredEnd,
      'Nothing but the closing of the connection marked the end of the file: rows may be missing there.',
    ],
  ];
  return [...facts.remarks, ...warnings.flatMap(([holds, warning]) => (holds ? [warning] : []))];
}
