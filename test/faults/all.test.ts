import { rowsOf, testRows } from './matrix.ts';

const f = process.env.ROWS ? new RegExp(process.env.ROWS) : /./;
for (const m of ['exports', 'updates'] as const)
  testRows(
    m,
    rowsOf(m).filter((r) => f.test(`${r.scenario}: ${r.step}, "${r.call}" ${r.fault} ${r.span}`)),
  );
