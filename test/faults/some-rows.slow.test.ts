import { drawn, testRows } from './matrix.ts';
import { ROWS } from './predictions.ts';

/** Rows that once found something. */
const FOUND = [
  'PublishFile: read the file, lost before always',
  'PublishFile: list the published dates, garbage always',
  'SummarizeBatch: list the results, garbage always',
  'SummarizeBatch: read the index of chunks, garbage always',
  'CreateExport: store the grant, refused once',
  'WriteChanges: read the record of the feed, garbage once',
];
const found = ROWS.filter(({ step, call, fault, span }) => FOUND.includes(`${step}: ${call}, ${fault} ${span}`));
testRows('faults that once ended differently than predicted', found);

// In CI the long tests, in the same run, have these and more.
if (!process.env.CI) testRows('a random hundredth of all faults', drawn(100));
