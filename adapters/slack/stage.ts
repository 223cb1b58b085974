import type { AdapterContext } from '../adapter.ts';
import type { Seal } from '../seal.ts';
import type { Stage } from '../stage.ts';
import { send } from './deliver.ts';
import { escapeText, slackLimits } from './limits.ts';
import { identityOf, type SlackAddress } from './receive.ts';
import { detailsView, formView, homeView } from './views.ts';
import { call, postResponse } from './web.ts';
import type { Workspaces } from './workspaces.ts';

/** What Slack can show to one person. */
export function createStage(context: AdapterContext, workspaces: Workspaces, seal: Seal): Stage<SlackAddress> {
  const { clientFor, localeOf } = workspaces;
  const openView = async (address: SlackAddress, trigger_id: string, view: object): Promise<void> => {
    const client = await clientFor(address);
    await call('views.open', client.apiCall('views.open', { trigger_id, view }));
  };
  return {
    localeOf,
    identify: identityOf,
    inThread: (address, threadTs, thread) => ({ ...address, threadTs, thread }),
    responses: {
      help: (text) => ({ response_type: 'ephemeral', text: escapeText(text) }),
      corrections: (errors) => ({ response_action: 'errors', errors }),
    },
    async tell(address, text) {
      const client = await clientFor(address);
      await send({ context, client, seal, address: { ...address, route: 'respond' } }, { text: escapeText(text) });
    },
    openForm: (address, trigger, form) => openView(address, trigger, formView(form, address)),
    openDetails: (address, trigger, details) => openView(address, trigger, detailsView(details)),
    async share({ response }, shared) {
      const url = seal.open(response ?? '');
      if (url === undefined) return false;
      await postResponse(url, { ...shared, response_type: 'in_channel', replace_original: false });
      return true;
    },
    async showHome(address, home) {
      const client = await clientFor(address);
      await client.views.publish({ user_id: address.user, view: homeView(home) });
    },
    async showPrompts(address, all) {
      const client = await clientFor(address);
      const prompts = all.slice(0, slackLimits.suggestedPrompts).map((prompt) => ({ ...prompt }));
      await client.assistant.threads.setSuggestedPrompts({ channel_id: address.channel, prompts });
    },
  };
}
