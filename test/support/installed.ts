import { execFileSync } from 'node:child_process';

/** Whether the commands of the documented shell lines are installed. They come separately. */
export function hasShellTools(): boolean {
  try {
    return ['aws', 'jq'].every((program) => execFileSync(program, ['--version']).length > 0);
  } catch {
    return false;
  }
}
