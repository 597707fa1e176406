import { readFileSync } from 'node:fs';

type Label = 'Look' | 'Fix' | 'Verify' | 'Replay';

/** One entry of docs/runbook.md: the commands under each label, as a person would copy them. */
export interface Entry {
  id: string;
  text: string;
  commands: { label: Label; command: string }[];
}

/**
 * The entries of the runbook, headings of level 3. Without a part "Look" or "Replay", an entry has the usual command.
 */
export function runbookEntries(text = readFileSync('docs/runbook.md', 'utf8')): Entry[] {
  const usual = [usualCommand(text, 'Look'), usualCommand(text, 'Replay')];
  return text
    .split(/^(?=#{2,3} )/m)
    .filter((part) => part.startsWith('### '))
    .map((part) => ({ id: /^### (\S+)/.exec(part)?.[1] ?? '', text: part, commands: commandsOf(part, usual) }));
}

export function allCommands(text: string): string[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap((block) => (block[1] ?? '').trim().split('\n'));
}

/** The command in the introduction for a part that an entry leaves out. */
function usualCommand(text: string, label: Label): { label: Label; command: string } {
  const [command] = allCommands(text.split(`**${label}**:`)[1] ?? '');
  if (!command) throw new Error(`docs/runbook.md does not give the usual command of "${label}".`);
  return { label, command };
}

function commandsOf(part: string, usual: Entry['commands']): Entry['commands'] {
  const labelled = part.split(/^(?=\*\*(?:Look|Fix|Verify|Replay)\.\*\*)/m).slice(1);
  const commands = labelled.flatMap((text) => {
    const label = /^\*\*(\w+)\./.exec(text)?.[1] as Label;
    return allCommands(text).map((command) => ({ label, command }));
  });
  return [...commands, ...usual.filter(({ label }) => !part.includes(`**${label}.**`))];
}
