import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MACHINE_VERSION } from '../../../core/step/steps.ts';
import type { Definition, Template } from '../../../scripts/template.ts';
import { type Assemble, synthesise } from '../../e2e/support/deployed.ts';
import { changeSettings } from './fixture-release.ts';

/** The additions of the next release. */
export const MORE = {
  state: 'NoteTaken',
  outcome: 'NOTED',
  output: 'NoteBook',
  setting: { noteAs: 'read by the function' },
};

/** PublishFile of the next release: it returns the new outcome to runs that started with a state for it. */
const PUBLISH_FILE = `
import { readFileSync } from 'node:fs';
import { handler as today } from './index.mjs';
const { noteAs } = JSON.parse(readFileSync(new URL('./deployment.json', import.meta.url), 'utf8'));
export const handler = async (event, context) => {
  const answer = await today(event, context);
  const known = event.machineVersion > ${MACHINE_VERSION} && answer.outcome === 'PUBLISHED';
  return known ? { ...answer, outcome: '${MORE.outcome}', note: noteAs } : answer;
};
`;

/** The next release: today's code with one more state, output and setting. */
export const nextRelease: Assemble = async (name, configurationFile, outdir, cloud) => {
  await synthesise(name, configurationFile, outdir, cloud);
  await changeSettings(outdir, (bundled) => ({ ...bundled, ...MORE.setting }));
  const file = join(outdir, `crm-export-${name}.template.json`);
  const template: Template = JSON.parse(await readFile(file, 'utf8'));
  template.Outputs[MORE.output] = { Value: 'more' };
  for (const [id, { Type, Properties }] of Object.entries(template.Resources)) {
    if (Type === 'AWS::StepFunctions::StateMachine' && id.startsWith('ExportRun')) {
      Properties.DefinitionString = changed(Properties.DefinitionString, addState);
    }
    if (Type === 'AWS::Lambda::Function' && id.startsWith('PublishFile')) {
      Properties.Handler = 'next.handler';
      const bundle = `asset.${String(Properties.Code.S3Key).replace('.zip', '')}`;
      await writeFile(join(outdir, bundle, 'next.mjs'), PUBLISH_FILE);
    }
  }
  await writeFile(file, withOwnCode(template, JSON.stringify(template)));
  const assets = join(outdir, `crm-export-${name}.assets.json`);
  await writeFile(assets, withOwnCode(template, await readFile(assets, 'utf8')));
};

/** Gives code other keys and functions other versions, as the code of another release has. */
function withOwnCode({ Resources }: Template, text: string): string {
  const versions = Object.keys(Resources).filter((id) => Resources[id]?.Type === 'AWS::Lambda::Version');
  const renamed = versions.reduce((whole, id) => whole.replaceAll(`"${id}"`, `"${id}Next"`), text);
  return renamed.replaceAll(/\b[0-9a-f]{64}\.zip/g, 'next-$&');
}

function addState({ States }: Definition): void {
  const [begin, published] = [States.BeginRun, States.AfterPublishFile];
  if (!begin || !published) throw new Error('the machine has no state BeginRun or AfterPublishFile');
  begin.Parameters = { ...begin.Parameters, machineVersion: MACHINE_VERSION + 1 };
  published.Choices = [
    ...(published.Choices ?? []),
    { Variable: '$.outcome', StringEquals: MORE.outcome, Next: MORE.state },
  ];
  States[MORE.state] = { Type: 'Pass', Next: 'ExportPublished' };
}

type Joined = { 'Fn::Join': [separator: string, parts: unknown[]] };

/** Changes the definition between its joined parts. Values that only CloudFormation knows are kept. */
function changed({ 'Fn::Join': [separator, parts] }: Joined, change: (definition: Definition) => void): Joined {
  const text = parts.map((part, place) => (typeof part === 'string' ? part : `<<${place}>>`)).join(separator);
  const definition: Definition = JSON.parse(text);
  change(definition);
  const pieces = JSON.stringify(definition).split(/<<(\d+)>>/);
  return { 'Fn::Join': ['', pieces.map((piece, index) => (index % 2 === 1 ? parts[Number(piece)] : piece))] };
}
