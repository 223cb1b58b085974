/** What a person can press or order, and what a press says. */
export const enActions = {
  /** Comments and placeholders of an order that is not ready until a person has filled it in. */
  order: {
    image: 'pick an image with GPU driver and CUDA from this list (plain images have no driver)',
    fillIn: 'fill in what stands in <…>; DryRun only checks and buys nothing, leave it out to order',
    imageId: 'image with driver',
    securityGroup: 'sg-…',
    vSwitch: 'vsw-…',
    keyPair: 'your key pair',
    checks: [
      'quota: new accounts have none for A100 families; apply in the Quota Center (1 to 5 working days)',
      'stock differs by zone and hour: DryRun also checks it; have a second zone or type ready',
      'real-name registration and a balance of about 100 CNY are needed for pay-as-you-go',
      'first a short test run: compare nvidia-smi with the figure above and tell me what it showed',
    ],
  },

  choices: {
    ampOn: 'Turn on AMP',
    ampOff: 'AMP off (fp32)',
    batch: (batch: number) => `Batch ${batch}`,
    checkpointing: 'Checkpointing',
    otherBudget: 'Other budget',
    ownCard: 'My own GPU',
    order: 'Order command',
    details: 'Details',
    library: (name: string) => `${name}'s version`,
    defaultValue: 'Use the default',
    noLimit: 'No limit',
    startOver: 'Start over',
    example: 'Show an example',
  },
  /** What a press of a choice says; understood like any typed text. */
  say: {
    ampOn: 'turn on amp',
    ampOff: 'use fp32',
    batch: (batch: number) => `batch ${batch}`,
    checkpointing: 'turn on gradient checkpointing',
    otherBudget: 'change the budget',
    ownCard: 'I have my own GPU',
    order: 'order command',
    details: 'details',
    defaultValue: 'use the default',
    noLimit: 'no budget limit',
    startOver: 'start over',
    size: (side: number) => `${side}x${side}`,
    budgetHour: (amount: number) => `budget ${amount} CNY per hour`,
    budgetMonth: (amount: number) => `budget ${amount} CNY per month`,
  },
};

export type ActionMessages = typeof enActions;
