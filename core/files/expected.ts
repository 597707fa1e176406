import { listedFields } from '../columns/header.ts';
import { isHeaderless, labelsOf, sheetsOf } from '../config/chosen-columns.ts';
import type { Deployment } from '../config/deployment.ts';
import type { Run } from '../step/states.ts';
import type { Expected } from './judge-file.ts';

/** What the settings of today accept as the file of a run. */
export function expectedOf(
  run: Pick<Run, 'entity' | 'request' | 'listed' | 'excepted'>,
  deployment: Deployment,
): Expected {
  const plan = deployment.entities[run.entity];
  const { formats } = deployment.files;
  const covered = [...(plan.tables?.hash ?? []), ...(plan.tables?.except ?? [])];
  const listed = listedFields(run, labelsOf(plan));
  return { ...listed, formats, opaque: plan.opaque, headerless: isHeaderless(plan), covered, ...sheetsOf(plan) };
}
