import { labelsOf } from '../../core/config/chosen-columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { Field } from '../../core/crm/fields.ts';
import { chooseColumns } from '../../core/export/choose-columns.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { buildRequest } from '../../core/export/request.ts';
import { folded } from '../../core/folded.ts';
import { about, type Finding, holds, warning } from '../checks/finding.ts';
import { findingOf } from '../checks/finding-of.ts';

/** The columns that the CRM lists for an entity now, and the manifest of its newest export; `undefined` where that is not known. */
export interface Listed {
  entity: Entity;
  fields: Field[];
  last: Pick<Manifest, 'date' | 'execution' | 'plan' | 'fields' | 'leftOut'> | undefined;
}

/** Checks columns and request by the rules of a run. */
export function columnsFindings(deployment: Deployment, { entity, fields, last }: Listed): Finding[] {
  const plan = deployment.entities[entity];
  try {
    const { columns, remarks } = chooseColumns(plan, { entity }, fields, last);
    buildRequest({ entity }, plan, deployment.crm, columns);
    const advice = 'The next run warns of it in its manifest: correct the configuration if that is not meant.';
    const text =
      plan.columns === 'all'
        ? `All ${columns.length} columns that the CRM lists are exported.`
        : `${columns.length} of ${fields.length} columns are exported; all of them exist.`;
    return [
      about(entity, holds(text)),
      ...(remarks.length > 0 ? [about(`${entity}.except`, warning(remarks.join(' '), advice))] : []),
      ...labelFindings(`${entity}.labels`, labelsOf(plan), fields),
    ];
  } catch (error) {
    return [about(entity, findingOf(error))];
  }
}

function labelFindings(of: string, labels: ReturnType<typeof labelsOf>, fields: Field[]): Finding[] {
  const isListed = (value: string) => fields.some(({ name }) => folded(name) === folded(value));
  const strange = Object.entries(labels).filter(([, value]) => !isListed(value));
  if (strange.length === 0) return [];
  const named = strange.slice(0, 10).map(([text, value]) => `"${value}" (for "${text}")`);
  const text = `columns.labels names columns that the CRM does not list: ${named.join(', ')}.`;
  return [about(of, warning(text, 'Their texts name nothing in the header of a file: correct or remove them.'))];
}
