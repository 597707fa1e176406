import { testTransferProperties } from '../support/transfer-properties.ts';

/** `test/long/transfer-property.test.ts` tries many more scripts. */
testTransferProperties({ fewFaults: 20, anyFaults: 25 });
