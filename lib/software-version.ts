import { execFileSync } from 'node:child_process';
import { packageVersion } from '../core/package-version.ts';

/** The release that is being deployed: the version in package.json and, in a checkout, its commit. */
export function softwareVersion(): string {
  const version = packageVersion();
  try {
    const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return `${version}+${commit.trim()}`;
  } catch {
    // No git, or no checkout: a release unpacked from an archive.
    return version;
  }
}
