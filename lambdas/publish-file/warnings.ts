interface Facts {
  rows: number | null;
  header: string[] | null;
  asked: string[];
  irregular: number;
  unansweredCreates: number;
}

/** What a reader of the file should know, in sentences. None of them stops a publication. */
export function warningsOf({ rows, header, asked, irregular, unansweredCreates }: Facts): string[] {
  const warnings: string[] = [];
  if (rows === 0) warnings.push('The file has no rows.');
  if (header && header.length !== asked.length) {
    warnings.push(`The header has ${header.length} columns; ${asked.length} were asked for.`);
  } else if (header?.some((name, index) => name !== asked[index])) {
    warnings.push('The header names the columns otherwise than they were asked for.');
  }
  if (irregular > 0) warnings.push(`${irregular} rows have another number of fields than the header.`);
  if (unansweredCreates > 0) {
    warnings.push(
      'The answer to a first request was lost: the service may hold a further export that nobody collects.',
    );
  }
  return warnings;
}
