import { SIGNS } from '../runs/run/words.ts';
import type { Look } from '../support/all-deployments.ts';
import type { DeploymentRow } from './deployment-row.ts';
import type { Fleet } from './fleet.ts';
import { ageText, alarmsText, headlineOfFleet, outcomeOf, rulesText, SIGNS_OF_ALL, worstFirst } from './fleet-words.ts';
import { framed } from './frame.ts';
import { html, type Markup } from './html.ts';
import { timeText } from './words.ts';

/** The page of `report --all-deployments`: a row for each deployment. @param warnings what could not be read of any */
export function fleetPage({ madeAt, deployments }: Fleet, warnings: string[] = []): string {
  const { tone, text } = headlineOfFleet(deployments);
  const body = html`<main>
<header>
<h1 class="${tone}"><span class="mark" aria-hidden="true">${SIGNS[tone]}</span>${text}</h1>
${warnings.map((warning) => html`<p class="warning">${warning}</p>`)}
</header>
<section aria-labelledby="deployments"><h2 id="deployments">Deployments</h2>
<div class="scroll" role="region" aria-labelledby="deployments-caption" tabindex="0"><table class="list">
<caption id="deployments-caption">The last night of each; how old the oldest of its newest exports is</caption>
<thead><tr><th scope="col">Deployment</th><th scope="col">Last night</th><th scope="col" class="narrow-off">Oldest export</th>
<th scope="col">Alarms</th><th scope="col">Rules</th><th scope="col" class="narrow-off">Release</th></tr></thead>
<tbody>${worstFirst(deployments).map(rowOf)}</tbody></table></div></section>
</main>
<footer>
<p>Made ${timeText(madeAt)} from stacks, buckets, executions, rules and alarms of one account and region. More of one deployment:
<code>npx --no crm-export report --deployment NAME</code></p>
</footer>`;
  return framed(text, body);
}

/** The style of a row is that of a night's outcome. */
const CLASSES = { good: 'published', bad: 'failed', open: 'due', unknown: 'missing' };

function rowOf(look: Look<DeploymentRow>): Markup {
  const { deployment, found } = look;
  const { tone, text } = outcomeOf(look);
  return html`<tr class="${CLASSES[tone]}"><th scope="row">${deployment}</th>
<td class="long"><span class="sign" aria-hidden="true">${SIGNS_OF_ALL[tone]}</span> ${text}${(found?.warnings ?? []).map((warning) => html`<br><small>${warning}</small>`)}</td>
<td class="narrow-off">${found ? ageText(found) : ''}</td><td class="long">${found ? alarmsText(found) : ''}</td>
<td class="long">${found ? rulesText(found) : ''}</td><td class="narrow-off">${found?.version ?? ''}</td></tr>`;
}
