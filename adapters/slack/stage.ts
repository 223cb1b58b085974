import type { Stage } from '../reception.ts';
import type { Seal } from '../seal.ts';
import { escapeText, slackLimits } from './limits.ts';
import { conversationOf, placeKeyOf, type SlackAddress, tenantOf, userIdOf } from './receive.ts';
import { detailsView, formView, homeView } from './views.ts';
import { call, postResponse } from './web.ts';
import type { Workspaces } from './workspaces.ts';

/** What Slack can show to one person. */
export function createStage({ clientFor, localeOf }: Workspaces, seal: Seal): Stage<SlackAddress> {
  const urlOf = ({ response }: SlackAddress): string | undefined => seal.open(response ?? '');
  const openView = async (address: SlackAddress, trigger_id: string, view: object): Promise<void> => {
    const client = await clientFor(address);
    await call('views.open', client.apiCall('views.open', { trigger_id, view }));
  };
  return {
    localeOf,
    identify: (address) => ({
      tenant: `slack:${tenantOf(address)}`,
      conversationId: conversationOf(address),
      userId: userIdOf(address),
      channelKey: placeKeyOf(address),
    }),
    responses: {
      help: (text) => ({ response_type: 'ephemeral', text: escapeText(text) }),
      corrections: (errors) => ({ response_action: 'errors', errors }),
    },
    async tell(address, words) {
      const text = escapeText(words);
      const url = urlOf(address);
      if (url !== undefined) return postResponse(url, { text, response_type: 'ephemeral', replace_original: false });
      const { channel, user, threadTs } = address;
      const thread = threadTs === null ? {} : { thread_ts: threadTs };
      return (await clientFor(address)).chat.postEphemeral({ channel, user, text, ...thread });
    },
    openForm: (address, trigger, form) => openView(address, trigger, formView(form, address)),
    openDetails: (address, trigger, details) => openView(address, trigger, detailsView(details)),
    async share(address, shared) {
      const url = urlOf(address);
      if (url === undefined) return false;
      await postResponse(url, { ...shared, response_type: 'in_channel', replace_original: false });
      return true;
    },
    async showHome(address, home) {
      const client = await clientFor(address);
      await client.views.publish({ user_id: address.user, view: homeView(home) });
    },
    async showPrompts({ channel, ...address }, all) {
      const client = await clientFor(address);
      const prompts = all.slice(0, slackLimits.suggestedPrompts).map((prompt) => ({ ...prompt }));
      await client.assistant.threads.setSuggestedPrompts({ channel_id: channel, prompts });
    },
  };
}
