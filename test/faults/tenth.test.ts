import { randomInt } from 'node:crypto';
import { ROWS } from '../../scripts/faults/fault-tables.ts';
import { randomFrom } from '../oauth/support/virtual-clock.ts';
import { testRows } from './matrix.ts';

/** Rows that once found something. */
const FOUND = [
  'PublishFile: read the file, lost before always',
  'PublishFile: list the published dates, garbage always',
  'SummarizeBatch: list the results, garbage always',
  'SummarizeBatch: read the index of chunks, garbage always',
  'CreateExport: store the grant, refused once',
];
const found = ROWS.filter(({ step, call, fault, span }) => FOUND.includes(`${step}: ${call}, ${fault} ${span}`));
testRows('faults that had another end once', found);

/** Another tenth each time; `npm run test:long` has all. */
const seed = Number(process.env.FAULTS_SEED ?? randomInt(2 ** 31));
const random = randomFrom(seed);
const drawn = ROWS.map((row) => ({ row, place: random() })).sort((a, b) => a.place - b.place);

process.stderr.write(`A tenth of docs/design/faults.md: FAULTS_SEED=${seed} repeats it.\n`);
testRows(
  `a tenth of all faults, FAULTS_SEED=${seed}`,
  drawn.slice(0, Math.ceil(ROWS.length / 10)).map(({ row }) => row),
);
