import { rowsOf, testRows } from '../faults/matrix.ts';

testRows('every fault of every call of a batch', rowsOf('updates'));
