import { type Reply, xml } from './answers.ts';

/** Subscriptions of a topic, by their ARNs. @param next the token of the next page */
export function subscriptions(arns: string[], endpoint = 'ops@example.com', next?: string): Reply {
  const members = arns.map(
    (arn) => `<member><SubscriptionArn>${arn}</SubscriptionArn><Endpoint>${endpoint}</Endpoint></member>`,
  );
  const more = next === undefined ? '' : `<NextToken>${next}</NextToken>`;
  return xml(
    `<r><ListSubscriptionsByTopicResult><Subscriptions>${members.join('')}</Subscriptions>${more}</ListSubscriptionsByTopicResult></r>`,
  );
}
