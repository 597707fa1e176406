import { readFileSync } from 'node:fs';

/** The first fenced block of a language after this text of a document: the text that a reader would copy. */
export function fencedBlock(document: string, behind: string, language: string): string {
  const [, ...rest] = readFileSync(document, 'utf8').split(`\n${behind}\n`);
  const [, block] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(rest.join('\n')) ?? [];
  if (block === undefined) throw new Error(`${document} has no ${language} behind ${behind}`);
  return block;
}
