string	1	[unknown file]
string	2	System Routine (Exceptions)
string	3	[failed decode]
string	4	active
string	5	control
string	6	pipestall
string	7	send
string	8	dist_acc
string	9	sbid
string	10	sync
string	11	inst_fetch
string	12	other
string	13	unknown
string	14	render main
string	15	start;main;draw;submit;
string	16	entry_[k];ioctl_[k];
string	17	blur.cl
string	18	blur(float*)
string	19	mad
string	20	0xffff800000020000
interval_start	7	50.000000
eustall	14	300	15	16	0	0	17	18	19	4	0x10	3
eustall	14	300	15	16	0	0	17	18	7	7	0x20	1
eustall	14	300	15	16	0	0	17	18	7	9	0x20	7
interval_end	7
interval_start	8	50.010000
frame
interval_end	8
interval_start	9	50.025000
eustall	14	300	15	16	0	0	17	18	7	9	0x20	5
eustall	14	300	15	16	0	0	17	18	7	13	0x20	2
eustall	14	300	0	0	0	1	1	20	19	4	0x0	1
interval_end	9
