double kp_version(void);
