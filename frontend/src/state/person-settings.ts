/** What a person set: kept by the server for people who signed in, else by the browser. */

import { api, type Settings } from "../api/client";

export type SettingName = "last-look" | "theme" | "time-zone" | "views";

const storageKey = (name: SettingName): string => `knickpoint-${name}`;

/** The settings of the person who uses the page; loaded once. */
export class PersonSettings {
  private answer: Promise<Settings> | undefined;

  /** The value of a setting; "" if it was never set. */
  async get(name: SettingName): Promise<string> {
    const { kept, values } = await this.load();
    return (kept ? values[name] : localStorage.getItem(storageKey(name))) ?? "";
  }

  /** Forget what was loaded: another person uses the page. */
  reset(): void {
    this.answer = undefined;
  }

  async set(name: SettingName, value: string): Promise<void> {
    if ((await this.load()).kept) this.answer = Promise.resolve(await api.putSetting(name, value));
    else localStorage.setItem(storageKey(name), value);
  }

  private load(): Promise<Settings> {
    this.answer ??= api.settings().catch((error: unknown) => {
      this.answer = undefined;
      throw error;
    });
    return this.answer;
  }
}

export const personSettings = new PersonSettings();
