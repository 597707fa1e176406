import { ENTITIES, type Entity } from '../../../../core/config/entities.ts';
import { type Answers, refused } from './answers.ts';
import { DEPLOYMENT, machineOf } from './stack.ts';

interface Rules {
  paused?: Entity[];
  gone?: Entity[];
}

const QUEUE = 'arn:aws:sqs:us-east-1:000000000000:undelivered-starts';

export function rules({ paused = [], gone = [] }: Rules = {}, deployment = DEPLOYMENT): Answers {
  return {
    DescribeRule: ({ input: { Name } }) => {
      const entity = ENTITIES.find((one) => Name === `crm-export-${deployment}-${one}`);
      if (!entity || gone.includes(entity)) return refused('ResourceNotFoundException');
      return { Name, State: paused.includes(entity) ? 'DISABLED' : 'ENABLED' };
    },
    ListTargetsByRule: {
      Targets: [{ Id: '1', Arn: machineOf(deployment), RoleArn: 'arn:role', DeadLetterConfig: { Arn: QUEUE } }],
    },
  };
}
