import { createCipheriv } from 'node:crypto';
import { expect, test } from 'vitest';
import { changesSchema } from '../../../cli/changes/documents.ts';
import { aws } from '../support/cloud/cloud.ts';
import { feedsOf, onTerminal } from './support.ts';

const FIRST = 'id,name,city\n1,Ann,Haifa\n2,Ben,\n3,Cat,Eilat\n';
const SECOND = 'id,name,city\n1,Ann,Lod\n2,,Acre\n4,Dan,\n';

test('the newest feed is shown by its counts and its rows: what differs of an update, the first columns of the others', async () => {
  const { changes } = await feedsOf(FIRST, SECOND);

  const { code, stdout } = await changes();

  expect(code).toBe(0);
  expect(stdout.split('\n').toSorted()).toEqual(
    [
      'leads, feed 2, 2026-11-20 to 2026-11-21: 1 inserted, 1 deleted, 2 updated (night-2)',
      '~ id 1  city: Haifa -> Lod',
      '~ id 2  name: Ben -> (empty), city: (empty) -> Acre',
      '- id 3  name: Cat, city: Eilat',
      '+ id 4  name: Dan',
      '',
    ].toSorted(),
  );
});

test('--date shows the feeds of a date, --since those behind a place, and a snapshot says that it replaces everything', async () => {
  const { changes } = await feedsOf(FIRST, SECOND, SECOND);

  const { stdout } = await changes('--date', '2026-11-20');
  expect(stdout).toMatch(/^leads, feed 1, 2026-11-20: all 3 rows, which replace everything \(night-1\)\n\+ id 1 /);
  const since = (await changes('--since', '1')).stdout;
  expect(since.match(/feed \d+/g)).toEqual(['feed 2', 'feed 3']);
});

test('where there is no such feed it says so, and where the chain stands', async () => {
  const { changes, lose } = await feedsOf(FIRST, SECOND, SECOND);
  const said = async (...args: string[]) => (await changes(...args)).stdout;

  expect(await said('--date', '2026-11-29')).toBe('No feed of changes of leads ends at 2026-11-29.\n');
  expect(await said('--since', '3')).toBe('No feed of changes of leads is behind 3, the last one.\n');
  expect(await said('--since', '9')).toMatch(
    / is behind 9: the last one is 3\. If the chain has begun anew, .* --since 0\.$/m,
  );
  for (const place of [1, 2, 3]) lose(place, true);
  expect(await said()).toMatch(/^No feed of changes of leads is left: the last one, 3, is not kept /);
  const { cli } = await aws();
  expect((await cli('changes', 'leads')).stdout).toMatch(/^No feed of changes of leads yet: /);
});

test.each([[[]], [['--json']]])('whoever asks for feeds that are not kept is told so (%j)', async (more) => {
  const { changes, lose } = await feedsOf(FIRST, SECOND, FIRST, {
    csv: FIRST,
    settings: { changes: { ignore: ['city'] } },
  });
  expect((await changes('--since', '0', ...more)).stderr).toBe('');
  for (const place of [1, 2]) lose(place, true);

  const { code, stdout, stderr } = await changes('--since', '1', ...more);

  expect(code).toBe(0);
  expect(stderr).toBe('The feed 2 is not kept any more. The feed 4 has all rows: begin with it.\n');
  expect(stdout).not.toContain('not kept');
  expect((await changes('--since', '2', ...more)).stderr).toBe('');
  expect((await changes('--since', '0', ...more)).stderr).toContain('The feeds 1 to 2 are not kept any more.');
});

test('the newest feed is that of the chain that stands, though the one before had more', async () => {
  const { changes } = await feedsOf(FIRST, SECOND, FIRST, { csv: SECOND, anew: true }, FIRST);

  expect((await changes()).stdout).toMatch(/^leads, feed 2, 2026-11-23 to 2026-11-24: /);
  expect((await changes('--since', '0')).stdout.match(/feed \d+, \S+/g)).toEqual([
    'feed 1, 2026-11-23:',
    'feed 2, 2026-11-23',
  ]);
  expect((await changes('--date', '2026-11-21')).stdout).toContain('leads, feed 2, 2026-11-20 to 2026-11-21: ');
});

test('--key shows the rows of a record alone, below the feeds that have some', async () => {
  const { changes } = await feedsOf(FIRST, SECOND, SECOND);

  expect((await changes('--since', '0', '--key', '3')).stdout).toBe(
    [
      'leads, feed 1, 2026-11-20: all 3 rows, which replace everything (night-1)',
      '+ id 3  name: Cat, city: Eilat',
      'leads, feed 2, 2026-11-20 to 2026-11-21: 1 inserted, 1 deleted, 2 updated (night-2)',
      '- id 3  name: Cat, city: Eilat',
      '',
    ].join('\n'),
  );
  expect(await changes('--since', '0', '--key', '9')).toMatchObject({
    code: 0,
    stdout: 'No row with id 9 is in 3 feeds.\n',
  });
  const { feeds } = changesSchema.parse(
    JSON.parse((await changes('--key', '3', '--date', '2026-11-21', '--json')).stdout),
  );
  expect(feeds.map(({ changes }) => changes.length)).toEqual([1]);
});

test('a key of two columns takes two values, in their order', async () => {
  const settings = { changes: { key: ['city', 'id'] } };
  const { changes } = await feedsOf({ csv: FIRST, settings }, { csv: SECOND, settings });

  expect((await changes('--key', 'Haifa', '--key', '1')).stdout).toContain('- city Haifa, id 1  name: Ann\n');
  expect((await changes('--key', '1', '--key', 'Haifa')).stdout).toContain('No row with city 1, id Haifa');
  expect(await changes('--key', '1')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/known by city, id in the feed 2: give 2 values in this order, not 1\.$/m),
  });
});

test('where the key has changed meanwhile, a feed with another one says from where on this one holds', async () => {
  const settings = { changes: { key: ['city', 'id'] } };
  const { changes } = await feedsOf(FIRST, { csv: FIRST, settings }, { csv: SECOND, settings });

  expect((await changes('--since', '0', '--key', '1')).stderr).toMatch(/ known by city, id in the feed 3: /);
  const { code, stderr } = await changes('--since', '0', '--key', 'Haifa', '--key', '1');
  expect(code).toBe(2);
  expect(stderr).toMatch(/^The key of leads has changed behind the feed 1\. .* changes leads --since 1 --key …/);
  expect((await changes('--since', '1', '--key', 'Haifa', '--key', '1')).stdout).toContain('- city Haifa, id 1');
});

const TYPED = {
  tables: {
    columns: {
      whole: 'integer',
      sum: { type: 'decimal', precision: 18, scale: 2 },
      day: 'date',
      moment: 'timestamp',
      yes: 'boolean',
      share: 'double',
    },
  },
};

test('--json has all rows in one document, and every value as a text that says all of it', async () => {
  const header = 'id,whole,sum,day,moment,yes,share\n';
  const csv = `${header}1,9007199254740993,-0.05,1969-12-31,2026-11-20T01:02:03.004Z,true,0.1\n2,,,,,,\n`;
  const other = `${header}1,9007199254740994,-0.05,0001-01-01,2026-11-20T01:02:03.004Z,false,1e300\n2,,1234567890123456.78,,,,\n`;
  const { changes } = await feedsOf({ csv, settings: TYPED }, { csv: other, settings: TYPED });

  const { stdout } = await changes('--json');

  const document = changesSchema.parse(JSON.parse(stdout));
  expect(stdout.trimEnd()).not.toContain('\n');
  expect(document).toMatchObject({ entity: 'leads', stopped: null, release: null, feeds: [{ sequence: 2 }] });
  const none = { whole: null, sum: null, day: null, moment: null, yes: null, share: null };
  const moment = '2026-11-20T01:02:03.004Z';
  expect(document.feeds[0]?.changes).toEqual([
    {
      change: 'update',
      before: {
        id: '1',
        whole: '9007199254740993',
        sum: '-0.05',
        day: '1969-12-31',
        moment,
        yes: 'true',
        share: '0.1',
      },
      after: {
        id: '1',
        whole: '9007199254740994',
        sum: '-0.05',
        day: '0001-01-01',
        moment,
        yes: 'false',
        share: '1e+300',
      },
    },
    { change: 'update', before: { id: '2', ...none }, after: { id: '2', ...none, sum: '1234567890123456.78' } },
  ]);
});

test('the changes of ignored columns are left out of an update, and stand in the document', async () => {
  const settings = { changes: { ignore: ['city'] } };
  const { changes } = await feedsOf({ csv: FIRST, settings }, { csv: FIRST.replace('Ann,Haifa', 'Eve,Lod'), settings });

  expect((await changes()).stdout).toContain('\n~ id 1  name: Ann -> Eve\n');
  const { feeds } = changesSchema.parse(JSON.parse((await changes('--json')).stdout));
  expect(feeds[0]?.changes[0]).toMatchObject({ before: { city: 'Haifa' }, after: { city: 'Lod' } });
});

const many = (count: number) =>
  `id,name\n${Array.from({ length: count }, (_, place) => `${place},n${place}\n`).join('')}`;

test('a terminal gets the first rows of all feeds together and the number of the others, which are not read', async () => {
  const { changes, asked } = await feedsOf(many(15), many(15).replaceAll(',n', ',m'), many(25).replaceAll(',n', ',m'));

  const shown = await onTerminal(80, () => changes('--since', '0'));

  expect(shown.stdout.match(/^[+~-] /gm)).toHaveLength(20);
  expect(shown.stdout.match(/^….*$/gm)).toEqual([
    '… 10 more rows: all of them in a pipe (| less), and with --json.',
    '… 10 more rows: all of them in a pipe (| less), and with --json.',
  ]);
  expect(asked.filter((line) => line.includes('night-3/changes.parquet'))).toEqual([]);
  expect((await changes('--since', '0')).stdout.match(/^[+~-] /gm)).toHaveLength(40);
});

test('on a terminal an update without room for a line has one for each column, cut where its values differ', async () => {
  const csv = (end: string) => `id,name,city\n1,${'n'.repeat(60)}${end},${'c'.repeat(30)}${end}\n`;
  const { changes } = await feedsOf(csv('a'), csv('bcd'));

  const { stdout } = await onTerminal(90, () => changes());

  expect(stdout.split('\n').slice(1)).toEqual([
    '~ id 1',
    `    name: …${'n'.repeat(8)}a -> …${'n'.repeat(8)}bcd`,
    `    city: ${'c'.repeat(30)}a -> ${'c'.repeat(30)}bcd`,
    '',
  ]);
  expect((await changes()).stdout).toContain(`name: ${'n'.repeat(60)}a -> ${'n'.repeat(60)}bcd, city: `);
  const inserted = await onTerminal(30, () => changes('--date', '2026-11-20'));
  expect(inserted.stdout).toContain('\n+ id 1  … 2 more columns\n');
});

test('nothing in a value is obeyed by a terminal, and values that differ in such characters alone are told apart', async () => {
  const { changes } = await feedsOf(
    'id,name\n1,a\n',
    'id,name\n1,a\u001b[2J\u202e\n2,"\u001b]0;x\u0007b\nc\u009b1m"\n',
  );

  const { stdout } = await changes();

  expect(stdout).toContain(String.raw`~ id 1  name: "a" -> "a\u001b[2J\u202e"`);
  expect(stdout).toContain('+ id 2  name: b c\n');
  expect((await changes('--json')).stdout.trimEnd()).not.toMatch(/\p{Cc}/u);
});

test('values that differ in what nobody sees are told apart', async () => {
  const { changes } = await feedsOf(
    'id,name,city\n1,é,אב\n2,a b,x\n',
    'id,name,city\n1,e\u0301,אב\u200f\n2,a\u00a0b,y\n',
  );

  const { stdout } = await changes();

  expect(stdout).toContain(String.raw`~ id 1  name: "é" -> "e\u0301", city: "אב" -> "אב\u200f"`);
  expect(stdout).toContain(String.raw`~ id 2  name: "a b" -> "a\u00a0b", city: x -> y`);
});

test.each([false, true])(
  'a feed that has lost its rows (as a document: %s) is one sentence that says where to go on',
  async (json) => {
    const { changes, lose } = await feedsOf(FIRST, SECOND);
    lose(1, false);

    const { code, stdout, stderr } = await changes('--since', '0', ...(json ? ['--json'] : []));

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The feed 1 of leads, which ends at 2026-11-20, has lost its rows: changes\/\S+ is gone, .* changes leads --since 1 /,
    );
    if (json) expect(JSON.parse(stdout)).toEqual({ ok: false, error: stderr.trimEnd() });
    else expect(stdout).toMatch(/^leads, feed 1, .*\n$/);
  },
);

test('a feed that was replaced, or is damaged, is one sentence', async () => {
  const { changes, objects, etags } = await feedsOf(FIRST);
  const key = 'changes/entity=leads/date=2026-11-20/run=night-1/changes.parquet';
  const damaged = Buffer.from(objects.get(key) ?? '').fill(0, 20, 200);
  objects.set(key, damaged);
  expect((await changes()).stderr).toMatch(/^The feed 1 .* cannot be read: \S+ is damaged \(.*\)\. Those behind it: /);

  etags.set(key, '"another"');
  expect((await changes()).stderr).toMatch(/^The feed 1 .* is not the one that its record names\. /);
});

/** Rows of a megabyte and a half that no compression makes small. */
function large(rows: number): string {
  const cipher = createCipheriv('aes-256-ctr', Buffer.alloc(32), Buffer.alloc(16));
  const value = () => cipher.update(Buffer.alloc(1_200_000)).toString('base64');
  return `id,name\n${Array.from({ length: rows }, (_, row) => `${row},${value()}\n`).join('')}`;
}

test('a large feed is read a few megabytes at a time, and a document that cannot go on says that it is not whole', async () => {
  const csv = large(6);
  const { changes, asked, objects } = await feedsOf(csv);

  const { stdout } = await changes('--json');

  const { feeds } = changesSchema.parse(JSON.parse(stdout));
  const rows = feeds[0]?.changes.map(({ after }) => `${after?.id},${after?.name}\n`) ?? [];
  expect(`id,name\n${rows.join('')}` === csv).toBe(true);
  const ranges = asked.flatMap((line) => /changes\.parquet bytes=(\d+)-(\d+)/.exec(line)?.slice(1).map(Number) ?? []);
  expect(ranges.length).toBeGreaterThan(4);
  for (let at = 0; at < ranges.length; at += 2) expect((ranges[at + 1] ?? 0) - (ranges[at] ?? 0)).toBeLessThan(9e6);

  const feed = objects.get('changes/entity=leads/date=2026-11-20/run=night-1/changes.parquet');
  // From the end of the first row group into the next one.
  feed?.fill(0, 4_500_000, 6_000_000);
  const broken = await changes('--json');
  expect(broken).toMatchObject({ code: 1, stderr: expect.stringMatching(/^The document is not whole: The feed 1 /) });
  expect(broken.stdout.length).toBeGreaterThan(1_000_000);
  expect(broken.stdout).not.toContain('"ok"');
});
