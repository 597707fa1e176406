import { placeOptions } from './command-options.ts';
import type { TargetOptions } from './target.ts';

/** A command in a text: it ends with its sentence, or part of one. */
const COMMAND = /(?:npx --no crm-export [a-z]|npx cdk [a-z]|aws [a-z0-9]+ [a-z-]+ -).*?(?=[.,;)]+(?:\s|$)|$)/gm;

/** The commands of a text with the options by which the deployment was found, whole enough to be pasted. */
export function completed(text: string, place: TargetOptions): string {
  const { deployment, profile, region } = place;
  const account = placeOptions({ profile, region });
  return text.replace(COMMAND, (command) => {
    if (/ --deployment |-c deployment=/.test(command)) return command;
    const added = command.startsWith('npx --no ') ? placeOptions(place) : account;
    const named = command.replace(/^npx cdk \S+/, (cdk) => `${cdk} -c deployment=${deployment}`);
    return [named, added].filter(Boolean).join(' ');
  });
}

/** An advice with each of its commands on a line of its own. */
export function adviceLines(advice: string): string[] {
  const prose = advice.split(COMMAND);
  const commands = advice.match(COMMAND) ?? [];
  return prose.flatMap((text, index) => {
    const words = text.replace(/^[.,;)]+/, '').trim();
    const command = commands[index];
    return [...(words ? [begun(words)] : []), ...(command ? [command] : [])];
  });
}

/** A text begins like a sentence, unless it begins with a name: `leads-verify-1 is published`. */
export function begun(text: string): string {
  return /^[a-z]+:? /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
