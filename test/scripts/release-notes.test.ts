import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { releaseNotes } from '../../scripts/release-notes.ts';

const changelog = readFileSync('CHANGELOG.md', 'utf8');

test.each(['0.1.0', '0.2.0', '0.3.0'])('the notes of %s contain only its section', (version) => {
  const notes = releaseNotes(`v${version}`, version, changelog);

  expect(notes).toMatch(/^- \S/m);
  expect(notes).not.toMatch(/^## /m);
});

test('unreleased changes are in no notes', () => {
  const text = '# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.0.0] - 2026-11-22\n\n- old\n';

  expect(releaseNotes('v1.0.0', '1.0.0', text)).toBe('- old');
  expect(() => releaseNotes('v1.1.0', '1.1.0', text)).toThrow('no section "## [1.1.0] - DATE"');
});

test('a tag that differs from the version in package.json is refused', () => {
  expect(() => releaseNotes('v0.1.0', '0.2.0', changelog)).toThrow('package.json');
});
