import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { deploymentSchema } from '../../core/config/deployment.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { writeWhole } from '../support/write-whole.ts';
import { put, type Setting, valueAt } from './settings.ts';

/** A configuration file as it was when the probe began. */
export interface FileBefore {
  file: string;
  text: string;
}

/** @throws CommandError (exit code 2) where it cannot be read, before anything was asked */
export function readBefore(file: string): FileBefore {
  try {
    const text = readFileSync(file, 'utf8');
    accessSync(file, constants.W_OK);
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new Error('no object');
    return { file, text };
  } catch (error) {
    const sentence = `${file} cannot be written to, for it is not there, is read-only or is no JSON object: nothing was asked of the CRM.`;
    throw new CommandError(sentence, USAGE, { cause: error });
  }
}

/**
 * Puts settings into the file, unless somebody has changed it meanwhile.
 * @returns a line for each change; none where the file has them all
 * @throws CommandError; the file is as it was then
 */
export function writeSettings({ file, text }: FileBefore, settings: Setting[]): string[] {
  const next: Record<string, unknown> = JSON.parse(text);
  const lines: string[] = [];
  for (const { path, value } of settings) {
    const before = valueAt(next, path);
    const after = value(before);
    if (isDeepStrictEqual(before, after)) continue;
    lines.push(`${path.join('.')}: ${JSON.stringify(before) ?? 'nothing'} -> ${JSON.stringify(after)}`);
    put(next, path, after);
  }
  if (lines.length === 0) return [];
  const parsed = deploymentSchema.safeParse(next);
  if (!parsed.success) {
    throw new CommandError(`${file} would not be valid with what was seen: it is as it was.`, RUN_FAILED);
  }
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    throw new CommandError(`${file} was changed while the CRM was asked: it is as somebody left it.`, RUN_FAILED);
  }
  const indentation = /^[ \t]+/m.exec(text)?.[0] ?? '  ';
  replace(file, `${shortLists(JSON.stringify(next, null, indentation))}\n`);
  return lines;
}

/** Lists of plain values on one line, as the formatter writes them. */
function shortLists(json: string): string {
  return json.replace(/\[\n\s*([^[\]{}]*?)\n\s*\]/g, (list, inner: string) => {
    const line = `[${inner.replace(/\n\s*/g, ' ')}]`;
    return line.length <= 80 ? line : list;
  });
}

function replace(file: string, text: string): void {
  // What a link names is replaced, not the link.
  const real = realpathSync(file);
  writeWhole(real, text, (finished) => {
    chmodSync(finished, statSync(real).mode);
    renameSync(finished, real);
  });
}
