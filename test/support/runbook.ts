import { readFileSync } from 'node:fs';

type Label = 'Look' | 'Mend' | 'Verify' | 'Replay';

/** One entry of docs/runbook.md: its commands under each label, as a person would copy them. */
export interface Entry {
  id: string;
  text: string;
  commands: { label: Label; command: string }[];
}

/** The entries of the runbook: every heading of the third level. */
export function runbookEntries(text = readFileSync('docs/runbook.md', 'utf8')): Entry[] {
  return text
    .split(/^(?=#{2,3} )/m)
    .filter((part) => part.startsWith('### '))
    .map((part) => ({ id: /^### (\S+)/.exec(part)?.[1] ?? '', text: part, commands: commandsOf(part) }));
}

/** Every command of a document, whatever it stands under. */
export function allCommands(text: string): string[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap((block) => (block[1] ?? '').trim().split('\n'));
}

function commandsOf(part: string): Entry['commands'] {
  const labelled = part.split(/^(?=\*\*(?:Look|Mend|Verify|Replay)\.\*\*)/m).slice(1);
  return labelled.flatMap((text) => {
    const label = /^\*\*(\w+)\./.exec(text)?.[1] as Label;
    return allCommands(text).map((command) => ({ label, command }));
  });
}
