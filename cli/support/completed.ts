import { placeOptions } from './command-options.ts';
import type { TargetOptions } from './target.ts';

/** A command of ours, up to where the next one begins. */
const OURS = /npm run cli -- ([a-z][a-z-]*)((?:(?!npm run cli -- )[\s\S])*)/g;
const CDK = /npx cdk (deploy|synth)(?! -c deployment=)/g;

/** The commands of a text with the options by which the deployment was found, whole enough to be pasted. */
export function completed(text: string, place: TargetOptions): string {
  const options = placeOptions(place);
  const { deployment, profile, region } = place;
  const cdk = [`-c deployment=${deployment}`, placeOptions({ profile, region })].filter(Boolean).join(' ');
  const ours = text.replace(OURS, (_, name, rest) =>
    rest.includes('--deployment') ? `npm run cli -- ${name}${rest}` : `npm run cli -- ${name} ${options}${rest}`,
  );
  return ours.replace(CDK, (command) => `${command} ${cdk}`);
}
