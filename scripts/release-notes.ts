import { readFileSync } from 'node:fs';

/** Prints the notes of a release, its section of CHANGELOG.md: `node scripts/release-notes.ts v0.2.0`. */

/**
 * @param tag `v` and a version
 * @throws Error if the tag does not match this version, or the version has no section with a date
 */
export function releaseNotes(tag: string, version: string, changelog: string): string {
  if (tag !== `v${version}`) throw new Error(`The tag ${tag} does not match the version in package.json, ${version}.`);
  const sections = changelog.split(/^## /m);
  const heading = new RegExp(`^\\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d\n`);
  const section = sections.find((text) => heading.test(text));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## [${version}] - DATE".`);
  return section.replace(heading, '').trim();
}

if (import.meta.main) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  process.stdout.write(`${releaseNotes(process.argv[2] ?? '', version, readFileSync('CHANGELOG.md', 'utf8'))}\n`);
}
