interface Facts {
  rows: number | null;
  header: string[] | null;
  requested: string[];
  irregular: number;
  /** What the judgement of the file has to say. */
  remarks: string[];
  unansweredCreates: number;
  restarts: number;
  undeclaredEnd: boolean;
}

/** What a reader of the file should know, in sentences. None of them stops a publication. */
export function warningsOf(facts: Facts): string[] {
  return [...ofContents(facts), ...ofItsWayHere(facts)];
}

function ofContents({ rows, header, requested, irregular, remarks }: Facts): string[] {
  const warnings = [...remarks];
  if (rows === 0) warnings.push('The file has no rows.');
  if (header && header.length !== requested.length) {
    warnings.push(`The header has ${header.length} columns; ${requested.length} were asked for.`);
  } else if (header?.some((name, index) => name !== requested[index])) {
    warnings.push('The header names the columns otherwise than they were asked for.');
  }
  if (irregular > 0) warnings.push(`${irregular} rows have another number of fields than the first record.`);
  return warnings;
}

function ofItsWayHere({ unansweredCreates, restarts, undeclaredEnd }: Facts): string[] {
  const warnings: string[] = [];
  if (unansweredCreates > 0) {
    warnings.push(
      'Whether a first request made an export is not known (its answer was lost, unreadable, or an error that does not say): the service may hold a further export that nobody collects.',
    );
  }
  if (restarts > 0) {
    const often = restarts === 1 ? 'once' : `${restarts} times`;
    warnings.push(`The file was begun anew ${often}: it had changed at its origin, or what was stored of it was gone.`);
  }
  if (undeclaredEnd) {
    warnings.push('Nothing but the closing of the connection marked the end of the file: rows may be missing there.');
  }
  return warnings;
}
