type State = 'start' | 'field' | 'quoted' | 'behind';

/** The records of a text as Python's csv module reads it, character by character, without empty lines. */
export function referenceCsv(text: string, separator: string): { records: string[][]; endsQuoted: boolean } {
  const tokens = text.match(/\r\n|./gsu) ?? [];
  const isBreak = (token: string) => ['\r\n', '\n', '\r'].includes(token);
  const records: string[][] = [];
  let record: string[] = [];
  let cell = '';
  let state: State = 'start';
  let blank = true;
  const end = () => {
    if (!blank) records.push([...record, cell]);
    record = [];
    cell = '';
    state = 'start';
    blank = true;
  };
  for (const token of tokens) {
    if (state !== 'quoted' && isBreak(token)) {
      end();
      continue;
    }
    blank = false;
    if (state !== 'quoted' && token === separator) [record, cell, state] = [[...record, cell], '', 'start'];
    else [cell, state] = next(cell, state, token);
  }
  const endsQuoted = state === 'quoted';
  end();
  return { records, endsQuoted };
}

/** The effect of one character on a field. */
function next(cell: string, state: State, token: string): [cell: string, state: State] {
  const mark = token === '"';
  if (state === 'quoted') return mark ? [cell, 'behind'] : [cell + token, 'quoted'];
  if (mark && state === 'start') return [cell, 'quoted'];
  return [cell + token, mark && state === 'behind' ? 'quoted' : 'field'];
}
