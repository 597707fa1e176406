import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROJECT = join(import.meta.dirname, '..');

/** Whether a commit is in this clone. */
export function hasCommit(commit: string): boolean {
  try {
    git('cat-file', '-e', `${commit}^{commit}`);
    return true;
  } catch {
    return false;
  }
}

/** Checks a commit out into a temporary folder and gives it its packages; all of it goes when this process ends. */
export function checkOut(commit: string): string {
  const dir = join(mkdtempSync(join(tmpdir(), 'earlier-')), commit);
  process.once('exit', () => {
    git('worktree', 'remove', '--force', dir);
    rmSync(join(dir, '..'), { recursive: true, force: true });
  });
  git('worktree', 'add', '--detach', dir, commit);
  const lockOf = (project: string) => readFileSync(join(project, 'package-lock.json'), 'utf8');
  if (lockOf(dir) === lockOf(PROJECT)) execFileSync('cp', ['-al', join(PROJECT, 'node_modules'), dir]);
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
  copyMinistack(dir);
  return dir;
}

/** What `npm start` would install first; it may be moved, and counts only where the commit pins the same. */
function copyMinistack(dir: string): void {
  const from = join(PROJECT, '.cache');
  const to = join(dir, '.cache');
  mkdirSync(to);
  const names = existsSync(from) ? readdirSync(from).filter((name) => name.startsWith('ministack-')) : [];
  for (const name of names) execFileSync('cp', ['-a', join(from, name), to]);
}

function git(...args: string[]): void {
  execFileSync('git', args, { cwd: PROJECT, stdio: 'ignore' });
}
