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
proc_name	14
pid	300
ustack	15
kstack	16
shader_type	1
gpu_file	17
gpu_symbol	18
insn_text	19
e	4	10	3
insn_text	7
e	7	20	1
e	9	20	7
interval_end	7
interval_start	8	50.010000
frame
interval_end	8
interval_start	9	50.025000
e	9	20	5
e	13	20	2
ustack	0
kstack	0
shader_type	2
gpu_file	1
gpu_symbol	20
insn_text	19
e	4	0	1
interval_end	9
