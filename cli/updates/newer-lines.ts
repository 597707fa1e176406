import { idOf } from '../../core/batch/failed-lines.ts';
import { linesOf } from '../../core/updates/line-blocks.ts';
import { commandFor } from '../support/command-options.ts';
import { printErr } from '../support/print.ts';
import type { TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';
import { laterChanges } from './newer.ts';
import { unfinishedLines } from './resume.ts';
import { refused } from './source.ts';
import type { UpdatesTarget } from './updates-target.ts';

const SHOWN = 20;

/**
 * Names the lines that a resumed batch leaves out, because a later batch has changed their customers, or may have.
 * @throws CommandError (exit code 2) where no other line is left
 */
export async function printNewer(target: UpdatesTarget, batch: string, options: TargetOptions): Promise<void> {
  const { all, rows, out } = await newerLines(target, batch);
  if (out === 0) return;
  const more = out > rows.length ? `\n  … and ${manyText(out - rows.length, 'more line')}` : '';
  const left = `${out.toLocaleString('en')} of ${manyText(all, 'line')} ${out === 1 ? 'is' : 'are'} left out`;
  printErr(`${left}: a later batch has changed their customers, or may have.`);
  printErr(`${textTable(['line', 'later batch'], rows)}${more}`);
  if (out === all) throw refused(`Nothing else is left of ${batch}: add --over-newer to send these lines.`);
  const list = commandFor(`update-status ${batch} --failed-to FILE`, options);
  printErr(`To send them too, add --over-newer; once the others are sent, these are what this writes: ${list}`);
}

async function newerLines(target: UpdatesTarget, batch: string) {
  const changed = await laterChanges(target, batch);
  const found = { all: 0, out: 0, rows: [] as string[][] };
  let line = 0;
  for await (const text of linesOf(unfinishedLines(target, batch, true).open())) {
    line += 1;
    const id = idOf(text, line);
    if (id === undefined) continue;
    found.all += 1;
    const by = changed(id);
    if (by === undefined) continue;
    found.out += 1;
    if (found.rows.length < SHOWN) found.rows.push([String(line), by]);
  }
  return found;
}
