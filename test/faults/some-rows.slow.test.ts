import { drawn, FAULTS_SEED } from './drawn.ts';
import { testRows } from './matrix.ts';
import { ROWS } from './rows.ts';

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

process.stderr.write(`A hundredth of the faults: FAULTS_SEED=${FAULTS_SEED} repeats it.\n`);
testRows(`a hundredth of all faults, FAULTS_SEED=${FAULTS_SEED}`, drawn(100));
